import { type Dialect, type OpenaiOptions, openaiOptionsOf, type Tool } from "@reprise/protocol";
import { countProduced, type EngineRequest, type Progress, type Seam } from "../../engine.ts";
import { formOf, type ReasoningField } from "../dialect-form.ts";
import { isForcingCall, isStructured, looksBack, withoutForcedCall } from "./openai-options.ts";
import type { PlaceMedia } from "./placed-media.ts";
import { isForced, toRequestFields } from "./request-fields.ts";
import { endsWithAssistant, toRequestMessages } from "./request-messages.ts";

/**
 * The way in which an upstream continues a trailing assistant message: `continue_final_message` asks for it in the request (vLLM, SGLang,
 * llama.cpp), `assistant_prefill` relies on the upstream doing it unasked (llama.cpp, TGI, some models of Ollama), `none` is
 * for upstreams that would begin a new turn.
 */
export const CONTINUATIONS = ["continue_final_message", "assistant_prefill", "none"] as const;
export type Continuation = (typeof CONTINUATIONS)[number];

export const MAX_TOKENS_FIELDS = ["max_tokens", "max_completion_tokens"] as const;
export type MaxTokensField = (typeof MAX_TOKENS_FIELDS)[number];

export interface UpstreamModel {
  readonly upstreamModel: string;
  readonly continuation: Continuation;
  /** The upstream's name of `max_output_tokens`: OpenAI's reasoning models know the longer name only, most others the shorter. */
  readonly maxTokensField: MaxTokensField;
  /** Which server it is, where servers differ. */
  readonly dialect: Dialect;
  /** The server's name for the model's thoughts in its answers so far. */
  readonly reasoningField?: ReasoningField | undefined;
}

const TEMPLATE_ARGUMENTS = "chat_template_kwargs";

/** Some upstreams take no function without a schema of its arguments. */
const NO_PARAMETERS = { type: "object", properties: {} };

/**
 * The body of `POST /chat/completions` for a request, with what tools have answered as further messages and the prefix as a
 * trailing assistant message.
 * @param place where the content of parts is. Default: in the request itself
 * @throws RepriseError `invalid_request` when `options` are wrong
 */
export function toChatRequest(
  request: EngineRequest,
  progress: Progress,
  model: UpstreamModel,
  place?: PlaceMedia,
): Record<string, unknown> {
  const continued = progress.prefix.text !== "";
  // A run that may be continued has to be counted by the server itself, up to wherever it may break off.
  const counts = model.continuation !== "none";
  const { max_output_tokens: maxTokens, tools } = request;
  const form = formOf(model.dialect, model.reasoningField);
  const options = releaseToolChoice(openaiOptionsOf(request), progress);
  const fields = toRequestFields(request, form, progress.turns.length === 0);
  return {
    ...options,
    model: model.upstreamModel,
    messages: toRequestMessages(request, progress, { ...form, place }),
    ...(tools !== undefined && { tools: tools.map(toTool) }),
    ...(maxTokens !== undefined && { [model.maxTokensField]: maxTokens - countProduced(progress) }),
    ...fields,
    ...withTemplateArguments(options, fields),
    // Both true is an error for vLLM and llama.cpp, and the second is true by default.
    ...(continued &&
      model.continuation === "continue_final_message" && {
        continue_final_message: true,
        add_generation_prompt: false,
      }),
    stream: true,
    stream_options: { include_usage: true, ...(counts && { continuous_usage_stats: true }) },
    ...(counts && { timings_per_token: true }),
  };
}

/**
 * True if a continued run of the request is as good as an uninterrupted one. It is not if the upstream looks at its own output
 * as a whole: the engine misses a stop sequence across the seam; a grammar, also that of a forced tool call, starts
 * again, and so do penalties and counts of the run's own tokens. A trailing assistant message in the input leaves open where the
 * model's own text began. Reasoning can't be sent back to the model as such, and it would reason again, or not at all. A limit
 * needs the upstream's own count of the prefix. Optional tools are no hindrance: a prefix is text, and the model repeats a call
 * that it had begun after it.
 */
export function canContinueRequest(
  request: EngineRequest,
  { continuation }: UpstreamModel,
  { prefix, reasoned, counted }: Seam,
): boolean {
  if (continuation === "none" || request.stop !== undefined || reasoned) return false;
  if (request.max_output_tokens !== undefined && !counted) return false;
  if (!isExact(prefix.text, continuation)) return false;
  if (endsWithAssistant(request) || isBound(request)) return false;
  try {
    const options = openaiOptionsOf(request);
    return !isStructured(options) && !isForcingCall(options) && !looksBack(options);
  } catch {
    // Wrong options are answered by `generate`, where an error ends the generation.
    return false;
  }
}

/**
 * True if the upstream gets a prefix exactly as the model produced it. A replacement character means that bytes are unknown; blanks at
 * the end are trimmed by TGI, and by templates that don't know that a message is to be continued.
 */
function isExact(prefix: string, continuation: Continuation): boolean {
  if (prefix.includes("\uFFFD")) return false;
  return continuation !== "assistant_prefill" || prefix === prefix.trimEnd();
}

/** True if the request's own fields make a run depend on its earlier output. */
function isBound({
  response_format: format,
  tool_choice: choice,
  frequency_penalty: frequency = 0,
  presence_penalty: presence = 0,
  reasoning,
}: EngineRequest): boolean {
  const isPenalised = frequency !== 0 || presence !== 0;
  const isFormed = format !== undefined && format.type !== "text";
  return isFormed || isForced(choice) || isPenalised || reasoning?.max_tokens !== undefined;
}

function toTool({ name, description, parameters = NO_PARAMETERS, strict }: Tool): object {
  return {
    type: "function",
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters,
      ...(strict !== undefined && { strict }),
    },
  };
}

/** Both an option and a field may be arguments of the template. */
function withTemplateArguments(options: OpenaiOptions, fields: Record<string, unknown>): object {
  const [given, own] = [options[TEMPLATE_ARGUMENTS], fields[TEMPLATE_ARGUMENTS]];
  if (!isObject(given) || !isObject(own)) return {};
  return { [TEMPLATE_ARGUMENTS]: { ...given, ...own } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A choice that forces a call is for the first run: in every later one it would force another call, without end. */
function releaseToolChoice(options: OpenaiOptions, { turns }: Progress): OpenaiOptions {
  return turns.length > 0 && isForcingCall(options) ? withoutForcedCall(options) : options;
}
