import { foldOptionName, type OpenaiOptions } from "@reprise/protocol";

const TOOL_CHOICE = foldOptionName("tool_choice");

/** The upstream's grammar starts again with a continued run and would contradict the prefix. */
const STRUCTURED = namesOf([
  "response_format",
  "structured_outputs",
  "guided_json",
  "guided_regex",
  "guided_choice",
  "guided_grammar",
  "json_schema",
  "grammar",
  "regex",
  "ebnf",
  "structural_tag",
]);

/**
 * Penalties for the run's own tokens, its least length, samplers with a memory, limits to its reasoning, and what hides that; sound and images, of which
 * a continued run would make the rest alone.
 */
const LOOKING_BACK = namesOf([
  "frequency_penalty",
  "presence_penalty",
  "min_tokens",
  "min_new_tokens",
  "mirostat",
  "adaptive_target",
  "thinking_token_budget",
  "thinking_budget_tokens",
  "reasoning_budget",
  "include_reasoning",
  "modalities",
  "audio",
]);

/** True if the upstream looks back at the output of this run, which a continued run takes for its input. */
export function looksBack(options: OpenaiOptions): boolean {
  return Object.entries(options).some(([key, value]) => LOOKING_BACK.has(foldOptionName(key)) && value !== 0);
}

export function isStructured(options: OpenaiOptions): boolean {
  return Object.keys(options).some((key) => STRUCTURED.has(foldOptionName(key)));
}

/** True if the model has to call a tool: any, which is `required` or Mistral's `any`, or one of those that are named. */
export function isForcingCall(options: OpenaiOptions): boolean {
  return Object.entries(options).some(([key, value]) => isToolChoice(key) && isForced(value));
}

/** The options with the choice left to the model. */
export function withoutForcedCall(options: OpenaiOptions): OpenaiOptions {
  const others = Object.entries(options).filter(([key]) => !isToolChoice(key));
  return { ...Object.fromEntries(others), tool_choice: "auto" };
}

function isToolChoice(key: string): boolean {
  return foldOptionName(key) === TOOL_CHOICE;
}

function isForced(choice: OpenaiOptions[string]): boolean {
  if (!isObject(choice)) return choice === "required" || choice === "any";
  const { allowed_tools: allowed } = choice;
  return !isObject(allowed) || allowed["mode"] !== "auto";
}

/** Some upstreams read a name in any case: see `foldOptionName`. */
function namesOf(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map(foldOptionName));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
