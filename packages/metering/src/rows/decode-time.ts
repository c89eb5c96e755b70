import type { GenerationRow } from "./generation-row.ts";

/** From the first delta to the end, without waits for tools, in microseconds; undefined where there was no delta. */
export function decodeUsOf({
  total_us: total,
  first_us: first,
  tool_wait_us: waited,
}: GenerationRow): number | undefined {
  return first === null ? undefined : Math.max(0, total - first - waited);
}

/** Of each token behind the first, which has no time of its own; undefined where there was none. */
export function usPerTokenOf(row: GenerationRow): number | undefined {
  const decodeUs = decodeUsOf(row);
  return decodeUs === undefined || row.output_tokens < 2
    ? undefined
    : Math.round(decodeUs / (row.output_tokens - 1));
}
