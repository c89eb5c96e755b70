import { isMediaPart, type MediaPart, referenceOf } from "../request/fields/content-part.ts";
import { type Message, partsOf } from "../request/fields/input.ts";
import type { GenerationRequest } from "../request/request.ts";
import { foldOptionName } from "./reserved-options.ts";

/**
 * Capabilities that a request may need of its model and its engine, beyond text in, text out, a limit, `temperature`, `stop` and `seed`. New names may be
 * added, and no name ever changes its meaning: they are stored with requests.
 */
export const CAPABILITIES = [
  "tools",
  "strict_tools",
  "tool_choice",
  "named_tool_choice",
  "parallel_tool_calls",
  "end_on_tool_calls",
  "history",
  "content_parts",
  "tool_history",
  "tool_content",
  "reasoning_history",
  "encrypted_reasoning",
  "images",
  "audio",
  "files",
  "media_references",
  "output_images",
  "output_audio",
  "json_object",
  "json_schema",
  "top_p",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "logit_bias",
  "logprobs",
  "reasoning_effort",
  "reasoning_max_tokens",
  "reasoning_summary",
  "verbosity",
  "input_stream",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

const KNOWN: ReadonlySet<string> = new Set(CAPABILITIES);

export function isCapability(name: string): name is Capability {
  return KNOWN.has(name);
}

/** A capability that a request needs, and its first field that needs it. */
export interface Need {
  readonly capability: Capability;
  readonly param: string;
}

/** Fields that need the capability of their name. */
const BY_NAME = [
  "tools",
  "parallel_tool_calls",
  "top_p",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "logit_bias",
  "logprobs",
  "verbosity",
] as const satisfies readonly (keyof GenerationRequest & Capability)[];

const MEDIA = { image: "images", audio: "audio", file: "files" } as const satisfies Record<
  MediaPart["type"],
  Capability
>;

/** Each capability once. Empty for a request of plain texts. */
export function needsOf(request: GenerationRequest): Need[] {
  const found = new Map<Capability, string>();
  const need = (capability: Capability, param: string) => {
    if (!found.has(capability)) found.set(capability, param);
  };
  for (const name of BY_NAME) if (request[name] !== undefined) need(name, name);
  const { tools, tool_choice: choice, response_format: format, reasoning, input } = request;
  const strict = tools?.findIndex((tool) => tool.strict !== undefined) ?? -1;
  if (strict !== -1) need("strict_tools", `tools.${strict}.strict`);
  if (typeof choice === "object") need("named_tool_choice", "tool_choice");
  else if (choice !== undefined) need("tool_choice", "tool_choice");
  if (request.tool_calls === "end") need("end_on_tool_calls", "tool_calls");
  if (format && format.type !== "text") need(format.type, "response_format");
  if (reasoning?.effort !== undefined) need("reasoning_effort", "reasoning.effort");
  if (reasoning?.max_tokens !== undefined) need("reasoning_max_tokens", "reasoning.max_tokens");
  if (reasoning?.summary !== undefined) need("reasoning_summary", "reasoning.summary");
  for (const [option, value] of Object.entries(request.options ?? {})) {
    const name = foldOptionName(option);
    const asksFor = (kind: string) => name === "modalities" && Array.isArray(value) && value.includes(kind);
    if (asksFor("image")) need("output_images", `options.${option}`);
    if (asksFor("audio") || name === "audio") need("output_audio", `options.${option}`);
  }
  if (request.input_stream) need("input_stream", "input.stream");
  if (typeof input !== "string") addInputNeeds(input, need);
  return [...found].map(([capability, param]) => ({ capability, param }));
}

function addInputNeeds(
  input: readonly Message[],
  need: (capability: Capability, param: string) => void,
): void {
  for (const [i, message] of input.entries()) {
    const at = `input.${i}`;
    if (message.role === "tool") need("tool_history", at);
    if (message.role !== "assistant") continue;
    const { tool_calls: calls, reasoning } = message;
    if (calls) need("tool_history", `${at}.tool_calls`);
    // Thoughts before calls go back to the model with them: the server has sent them, and takes or ignores them.
    if (reasoning === undefined || calls) continue;
    const items = typeof reasoning === "string" ? [] : reasoning;
    const sealed = items.findIndex((item) => "encrypted" in item);
    if (sealed !== -1) need("encrypted_reasoning", `${at}.reasoning.${sealed}`);
    if (sealed === -1 || items.some((item) => "text" in item)) need("reasoning_history", `${at}.reasoning`);
  }
  for (const { part, path } of partsOf(input)) {
    need("content_parts", path);
    if (!isMediaPart(part)) continue;
    need(MEDIA[part.type], path);
    if (referenceOf(part) !== undefined) need("media_references", path);
  }
}

/**
 * Returns the needs stored with a request, for workers of other versions: a worker that does not know a name gives the job back. Undefined for a request that
 * every version can run.
 */
export function toStoredNeeds(needs: readonly Need[]): Capability[] | undefined {
  const names = needs.map(({ capability }) => capability).filter((name) => name !== "tools");
  return names.length > 0 ? names : undefined;
}
