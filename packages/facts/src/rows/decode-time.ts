import type { GenerationRow } from "./generation-row.ts";

/** From the first output to the end, without waits for tools, in microseconds; undefined where there was no output. No wait begins before the first output: a call is one. */
export function decodeUsOf({
  total_us: total,
  first_us: first,
  tool_wait_us: waited,
}: GenerationRow): number | undefined {
  return first === null ? undefined : Math.max(0, total - first - waited);
}

/** Returns the number of tokens that came in that time; a first output without a count counts as one token. */
export function decodedTokensOf({ output_tokens: all, first_tokens: first }: GenerationRow): number {
  return Math.max(0, all - (first ?? 1));
}

/** Returns the time of each token after the first output, whose tokens have no time of their own; undefined if there was none. */
export function usPerTokenOf(row: GenerationRow): number | undefined {
  const [decodeUs, tokens] = [decodeUsOf(row), decodedTokensOf(row)];
  return decodeUs === undefined || tokens === 0 ? undefined : Math.round(decodeUs / tokens);
}
