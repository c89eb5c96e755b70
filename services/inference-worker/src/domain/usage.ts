import type { Usage } from "@reprise/protocol";

/**
 * What a generation has used, over all attempts. The log counts what was produced before this attempt; for this attempt the
 * engine's own count is exact, where it gives one, and ours of its chunks is the substitute. An engine that continues a prefix
 * reports the prefix as input, so the input is what was known before it.
 */
export function totalUsage(before: Usage, counted: number, reported: Partial<Usage> | undefined): Usage {
  return {
    input_tokens: before.input_tokens ?? reported?.input_tokens ?? null,
    output_tokens: before.output_tokens + (reported?.output_tokens ?? counted),
  };
}
