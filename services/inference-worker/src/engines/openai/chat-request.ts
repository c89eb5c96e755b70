import type { Message } from "@reprise/protocol";
import type { EngineRequest, Prefix } from "../engine.ts";
import { isStructured, parseOpenaiOptions } from "./openai-options.ts";

/**
 * How an upstream goes on behind a trailing assistant message: `continue_final_message` says so in the request (vLLM, SGLang,
 * llama.cpp), `assistant_prefill` relies on the upstream doing it unasked (llama.cpp, TGI, some models of Ollama), `none` is
 * for those that would begin a new turn.
 */
export const CONTINUATIONS = ["continue_final_message", "assistant_prefill", "none"] as const;
export type Continuation = (typeof CONTINUATIONS)[number];

export const MAX_TOKENS_FIELDS = ["max_tokens", "max_completion_tokens"] as const;
export type MaxTokensField = (typeof MAX_TOKENS_FIELDS)[number];

export interface UpstreamModel {
  readonly upstreamModel: string;
  readonly continuation: Continuation;
  /** What the upstream calls `max_output_tokens`: OpenAI's reasoning models know the longer name only, most others the shorter. */
  readonly maxTokensField: MaxTokensField;
}

/**
 * The body of `POST /chat/completions` for a request, with the prefix as a trailing assistant message.
 * @throws RepriseError `invalid_request` when `options` are wrong
 */
export function toChatRequest(
  request: EngineRequest,
  prefix: Prefix,
  model: UpstreamModel,
): Record<string, unknown> {
  const continued = prefix.text !== "";
  const { max_output_tokens: maxTokens, temperature, stop, seed } = request;
  return {
    ...parseOpenaiOptions(request.options),
    model: model.upstreamModel,
    messages: [...toMessages(request), ...(continued ? [{ role: "assistant", content: prefix.text }] : [])],
    ...(maxTokens !== undefined && { [model.maxTokensField]: maxTokens - prefix.tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stop !== undefined && { stop }),
    ...(seed !== undefined && { seed }),
    // Both true is an error for vLLM and llama.cpp, and the second is true by default.
    ...(continued &&
      model.continuation === "continue_final_message" && {
        continue_final_message: true,
        add_generation_prompt: false,
      }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/**
 * Whether a continued run of the request is as good as an uninterrupted one. It is not where the upstream looks at what it
 * produces as a whole: a stop sequence across the seam is seen by nobody, and a grammar begins anew. A trailing assistant
 * message in the input leaves open where the model's own text began.
 */
export function canContinueRequest(request: EngineRequest, { continuation }: UpstreamModel): boolean {
  if (continuation === "none" || request.stop !== undefined) return false;
  if (toMessages(request).at(-1)?.role === "assistant") return false;
  try {
    return !isStructured(parseOpenaiOptions(request.options));
  } catch {
    // Wrong options are answered by `generate`, where an error ends the generation.
    return false;
  }
}

/** Every text of a request that must not turn up in a message: what is said, not how it is to be run. */
export function requestTexts(request: EngineRequest, prefix: Prefix): string[] {
  const texts = toMessages(request).map(({ content }) => content);
  return [
    ...texts,
    prefix.text,
    ...(request.stop ?? []),
    ...stringsIn(request.options),
    ...stringsIn(request.metadata),
  ];
}

function toMessages({ input }: EngineRequest): readonly Message[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : input;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
