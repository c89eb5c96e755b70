import type { FinishReason, Annotation, Usage, TokenLogprobs } from "@reprise/protocol";
import type { TextPlaces } from "../text-places.ts";

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

export interface ChatAnnotation {
  type: "url_citation";
  url_citation: { start_index: number; end_index: number; title: string; url: string };
}

/**
 * OpenAI's API knows pages alone: undefined for a file, and where moderation has withdrawn the address.
 * @param places of the texts of output 0
 */
export function toChatAnnotation(annotation: Annotation, places: TextPlaces): ChatAnnotation | undefined {
  const { kind, url, title = "" } = annotation;
  if (kind !== "url" || url === undefined) return undefined;
  const [start_index, end_index] = places.rangeOf(annotation);
  return {
    type: "url_citation",
    url_citation: { start_index, end_index, title, url },
  };
}

/** Tokens as OpenAI's API counts them. What is not known of the input is 0 there. */
export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; audio_tokens: number };
  completion_tokens_details: { reasoning_tokens: number; audio_tokens: number };
}

export function toChatUsage(usage: Usage): ChatUsage {
  const input = usage.input_tokens ?? 0;
  return {
    prompt_tokens: input,
    completion_tokens: usage.output_tokens,
    total_tokens: input + usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: usage.cached_input_tokens ?? 0,
      audio_tokens: usage.audio_input_tokens ?? 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning_tokens ?? 0,
      audio_tokens: usage.audio_output_tokens ?? 0,
    },
  };
}

interface ChatLogprob {
  token: string;
  bytes: number[] | null;
  logprob: number;
}

interface ChatTokenLogprob extends ChatLogprob {
  top_logprobs: ChatLogprob[];
}

export interface ChatLogprobs {
  content: ChatTokenLogprob[] | null;
  refusal: null;
}

const ENCODER = new TextEncoder();

/** If moderation withholds the tokens, they are empty texts here: only the numbers remain. */
export function toChatLogprobs(logprobs: TokenLogprobs): ChatTokenLogprob[] {
  return logprobs.map(({ top = [], ...token }) => ({
    ...toChatLogprob(token),
    top_logprobs: top.map(toChatLogprob),
  }));
}

function toChatLogprob({ token = "", logprob, bytes }: Omit<TokenLogprobs[number], "top">): ChatLogprob {
  return { token, bytes: bytes ?? [...ENCODER.encode(token)], logprob };
}
