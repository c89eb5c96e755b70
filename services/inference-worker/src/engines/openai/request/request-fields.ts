import { DEFAULT_FORMAT_NAME, type ResponseFormat, type ToolChoice } from "@reprise/protocol";
import type { EngineRequest } from "../../engine.ts";
import type { FieldNames } from "../dialect-form.ts";

/** The fields that upstreams know by the request's own names. */
const SAME_NAMES = [
  "temperature",
  "stop",
  "seed",
  "top_p",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "parallel_tool_calls",
  "verbosity",
] as const satisfies readonly (keyof EngineRequest)[];

/**
 * Returns the request's generation settings in the upstream's form.
 * @param forced true if a choice of tools that forces a call may be kept
 */
export function toRequestFields(
  request: EngineRequest,
  names: FieldNames,
  forced: boolean,
): Record<string, unknown> {
  const { repetition_penalty: repetition, tool_choice: choice, response_format: format, reasoning } = request;
  const { logprobs } = request;
  const said = SAME_NAMES.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]);
  return {
    ...(Object.fromEntries(said) as Record<string, unknown>),
    ...(repetition !== undefined && { [names.repetitionPenalty]: repetition }),
    ...(logprobs !== undefined && {
      logprobs: true,
      top_logprobs: Math.max(logprobs, names.leastTopLogprobs),
    }),
    ...(choice !== undefined && {
      tool_choice: toChoice(forced || !isForced(choice) ? choice : "auto", names),
    }),
    ...(format && format.type !== "text" && { response_format: toFormat(format, names) }),
    ...(reasoning?.effort !== undefined && toEffort(reasoning.effort, names)),
    ...(reasoning?.summary !== undefined && { reasoning: { summary: reasoning.summary } }),
    ...(reasoning?.max_tokens !== undefined && { [names.reasoningBudget]: reasoning.max_tokens }),
  };
}

export function isForced(choice: ToolChoice | undefined): boolean {
  return choice === "required" || typeof choice === "object";
}

function toChoice(choice: ToolChoice, { requiredChoice }: FieldNames): string | object {
  if (typeof choice === "object") return { type: "function", function: { name: choice.name } };
  return choice === "required" ? requiredChoice : choice;
}

function toEffort(effort: string, { reasoningEffort }: FieldNames): Record<string, unknown> {
  if (reasoningEffort === "reasoning_effort") return { reasoning_effort: effort };
  return { chat_template_kwargs: { reasoning_effort: effort } };
}

function toFormat(format: Exclude<ResponseFormat, { type: "text" }>, { jsonSchema }: FieldNames): object {
  if (format.type === "json_object") return { type: "json_object" };
  const { name = DEFAULT_FORMAT_NAME, description, schema, strict } = format;
  const described = {
    name,
    ...(description !== undefined && { description }),
    schema,
    ...(strict !== undefined && { strict }),
  };
  return { type: "json_schema", [jsonSchema]: jsonSchema === "value" ? { name, schema } : described };
}
