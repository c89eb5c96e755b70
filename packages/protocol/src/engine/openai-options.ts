import * as z from "zod";
import type { GenerationRequest } from "../request/request.ts";
import { RepriseError } from "../errors/reprise-error.ts";
import { createOptionsParser } from "./parse-options.ts";
import { foldOptionName, reservedBecause, reservedInTemplateBecause } from "./reserved-options.ts";

const TEMPLATE_OPTION = foldOptionName("chat_template_kwargs");
const MODALITIES = z.array(z.enum(["text", "image", "audio"]));

/** Options that are not reserved go to the upstream unchanged, and the upstream validates them. */
const openaiOptionsSchema = z.record(z.string(), z.json()).superRefine((options, context) => {
  for (const [key, value] of Object.entries(options)) {
    const reason = reservedBecause(key);
    if (reason !== undefined) context.addIssue({ code: "custom", path: [key], message: reason });
    if (foldOptionName(key) === "modalities" && !MODALITIES.safeParse(value).success)
      context.addIssue({ code: "custom", path: [key], message: "must be a list of text, image and audio" });
    if (foldOptionName(key) !== TEMPLATE_OPTION || typeof value !== "object" || value === null) continue;
    for (const name of Object.keys(value)) {
      const why = reservedInTemplateBecause(name);
      if (why !== undefined) context.addIssue({ code: "custom", path: [key, name], message: why });
    }
  }
});

export type OpenaiOptions = z.infer<typeof openaiOptionsSchema>;

/** @throws RepriseError `invalid_request` */
export const parseOpenaiOptions = createOptionsParser(openaiOptionsSchema);

/** Names by which upstreams know fields of a request, beside those that no option may have. */
const FIELD_OPTIONS: readonly (readonly [(request: GenerationRequest) => unknown, readonly string[]])[] = (
  [
    [(request) => request.top_p, ["top_p", "typical_p"]],
    [(request) => request.top_k, ["top_k"]],
    [(request) => request.min_p, ["min_p"]],
    [(request) => request.frequency_penalty, ["frequency_penalty"]],
    [(request) => request.presence_penalty, ["presence_penalty"]],
    [(request) => request.repetition_penalty, ["repetition_penalty", "repeat_penalty"]],
    [(request) => request.logit_bias, ["logit_bias"]],
    [(request) => request.tool_choice, ["tool_choice"]],
    [(request) => request.parallel_tool_calls, ["parallel_tool_calls"]],
    [
      (request) => request.response_format,
      ["response_format", "structured_outputs", "json_schema", "grammar", "guided_json", "format"],
    ],
    [(request) => request.reasoning?.effort, ["reasoning_effort", "reasoning", "think"]],
    [
      (request) => request.reasoning?.max_tokens,
      ["thinking_token_budget", "thinking_budget_tokens", "reasoning_budget", "reasoning"],
    ],
    [(request) => request.reasoning?.summary, ["reasoning"]],
    [(request) => request.verbosity, ["verbosity"]],
  ] satisfies [(request: GenerationRequest) => unknown, string[]][]
).map(([read, names]) => [read, names.map(foldOptionName)] as const);

/**
 * A request's options. One that a field of the request says already is refused, as upstreams would take either.
 * @throws RepriseError `invalid_request`
 */
export function openaiOptionsOf(request: GenerationRequest): OpenaiOptions {
  const options = parseOpenaiOptions(request.options);
  const keys = Object.keys(options);
  if (keys.length === 0) return options;
  for (const [read, names] of FIELD_OPTIONS) {
    if (read(request) === undefined) continue;
    const key = keys.find((name) => names.includes(foldOptionName(name)));
    if (key === undefined) continue;
    const param = `options.${key}`;
    throw new RepriseError("invalid_request", `${param}: is set by the request's own field`, { param });
  }
  return options;
}
