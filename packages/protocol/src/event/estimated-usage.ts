import type { RequestedEvent, Usage } from "./event.ts";
import { decodeEvent } from "./event-codec.ts";
import type { MediaTranscript } from "./media-transcript.ts";
import type { Transcript } from "./transcript.ts";
import { effectiveRequest } from "./effective-request.ts";
import { estimateInputTokens } from "../request/estimate-input-tokens.ts";

/*
 * Many engines count the input at their end: one that is stopped before has read it, and never says how much it was. Budgets, limits and meters all
 * count what the terminal event says, so it says an estimate then.
 */

/**
 * The usage with an estimate of an input that no engine has counted.
 * @param consumedBytes of streamed input
 */
export function withEstimatedInput(
  usage: Usage,
  { media, ...asked }: Pick<RequestedEvent, "request" | "prompt" | "media">,
  consumedBytes = 0,
): Usage {
  if (usage.input_tokens !== null) return usage;
  const input = estimateInputTokens(effectiveRequest(asked), media, consumedBytes);
  return { ...usage, input_tokens: input, estimated_input_tokens: input };
}

/**
 * The usage of a generation that is ended from outside. Without output no engine is known to have read the input: an attempt is in the log
 * before its engine is asked.
 * @param first the oldest event of its log
 */
export function usageAtEnd(
  { usage, consumedBytes }: Pick<Transcript, "usage"> & Partial<Pick<MediaTranscript, "consumedBytes">>,
  first: Uint8Array,
): Usage {
  if (usage.input_tokens !== null || usage.output_tokens === 0) return usage;
  const requested = decodeEvent(first);
  return requested.type === "generation.requested"
    ? withEstimatedInput(usage, requested, consumedBytes)
    : usage;
}
