import type { FinishReason } from "@reprise/protocol";

/** The reasons that OpenAI's clients know. */
export type ChatFinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** The end of a choice. `native_finish_reason` is set if OpenAI's API has no word for it. */
export interface ChatFinish {
  finish_reason: ChatFinishReason;
  native_finish_reason?: string;
}

/** Finish reason of a completed generation; a reason that a later version adds becomes `stop`. */
export function toChatFinish(reason: FinishReason): ChatFinish {
  switch (reason) {
    case "stop":
    case "length":
    case "tool_calls":
    case "content_filter":
      return { finish_reason: reason };
    case "timeout":
      return { finish_reason: "length", native_finish_reason: reason };
    default:
      return { finish_reason: "stop", native_finish_reason: reason };
  }
}

/** A cancel ends the stream in order; one that a halt has led to is the filter's. */
export function toCancelledFinish(isHalted: boolean): ChatFinish {
  return isHalted
    ? { finish_reason: "content_filter", native_finish_reason: "cancelled" }
    : { finish_reason: "stop", native_finish_reason: "cancelled" };
}
