import type { RepriseError } from "@reprise/protocol";
import { toLineJson } from "@reprise/protocol/wire";
import type { Frame } from "../projection.ts";
import type { UiChunk } from "./ui-chunk.ts";

/** Code of an error chunk if an attempt restarted after text that no chunk can retract. */
const RESTARTED = "restarted";

/** The chunk that tells a failure within a stream. */
export function toErrorChunk({
  code,
  message,
  retryable,
}: {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}): UiChunk {
  return { type: "error", errorText: message, code, retryable };
}

/** Like `toErrorChunk`, for an attempt that restarted when earlier steps of the message would have to be retracted. */
export function restartedChunk(): UiChunk {
  return toErrorChunk({
    code: RESTARTED,
    message:
      "The generation began again, and an earlier step of this message no longer counts. Read it again.",
    retryable: true,
  });
}

/** Native names of request fields, in the AI SDK's words. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  max_output_tokens: "maxOutputTokens",
  top_p: "topP",
  top_k: "topK",
  presence_penalty: "presencePenalty",
  frequency_penalty: "frequencyPenalty",
  stop: "stopSequences",
  tool_choice: "toolChoice",
  tool_calls: "tools",
  response_format: "responseFormat",
};

/** Where the items of a native request come from in a chat's request. */
export interface ChatPlaces {
  /** By the index in `input`: the field of the body. */
  readonly messages: readonly string[];
  /** By the index in `tools`: the name of the tool. */
  readonly tools: readonly string[];
}

/**
 * The field of a chat's request that a native field was made of.
 * @param param a native field's path, such as `input.2.content.0.url`
 */
export function toChatParam(param: string, { messages, tools }: ChatPlaces): string {
  const [field = "", index, ...rest] = param.split(".");
  if (field === "input" && index !== undefined) return messages[Number(index)] ?? "messages";
  if (field === "input") return "messages";
  if (field === "reasoning") return "reasoning";
  if (field === "tools" && index !== undefined) {
    const inner = rest.map((name) => (name === "parameters" ? "inputSchema" : name));
    return ["tools", tools[Number(index)] ?? index, ...inner].join(".");
  }
  const tail = index === undefined ? [] : [index, ...rest];
  return [FIELD_NAMES[field] ?? field, ...tail].join(".");
}

/** Frames for an error after which reconnecting does not help. They include the end: a transport that waits for one would reconnect. */
export function toUiErrorFrames(error: RepriseError): readonly Frame[] {
  const { code, message, retryable } = error;
  return toFrames([toErrorChunk({ code, message, retryable }), { type: "finish", finishReason: "error" }]);
}

/**
 * A stream of nothing, for `WorkflowChatTransport`, which takes 204 for an error and a stream without `finish` for a broken one.
 */
export function toNothingFrames(): readonly Frame[] {
  return [...toFrames([{ type: "finish", finishReason: "other" }]), { data: "[DONE]" }];
}

function toFrames(chunks: readonly UiChunk[]): Frame[] {
  return chunks.map((chunk) => ({ data: toLineJson(chunk) }));
}
