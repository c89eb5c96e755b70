import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Usage } from "@reprise/client";

/** Absent values are unknown. */
export function toUsage(usage: Usage): LanguageModelV4Usage {
  const {
    input_tokens: input,
    output_tokens: total,
    cached_input_tokens: cached,
    reasoning_tokens: reasoning,
  } = usage;
  const less = (all: number | undefined, part: number | undefined) =>
    all === undefined || part === undefined ? undefined : all - part;
  return {
    inputTokens: {
      total: input ?? undefined,
      noCache: less(input ?? undefined, cached),
      cacheRead: cached,
      cacheWrite: undefined,
    },
    outputTokens: { total, text: less(total, reasoning), reasoning },
    raw: { ...usage },
  };
}

/** `timeout` (a limit that the policy ends in order), `schema_mismatch` and what a later version adds are `other`. */
export function toFinishReason(raw: string): LanguageModelV4FinishReason {
  const unified = {
    stop: "stop",
    length: "length",
    content_filter: "content-filter",
    tool_calls: "tool-calls",
  } as const;
  return { unified: Object.hasOwn(unified, raw) ? unified[raw as keyof typeof unified] : "other", raw };
}

/** Usage of a generation that restarted: only its end tells its total tokens. */
export const UNKNOWN_USAGE: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
