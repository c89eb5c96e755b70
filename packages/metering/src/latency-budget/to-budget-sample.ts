import { usPerTokenOf } from "../rows/decode-time.ts";
import type { GenerationRow } from "../rows/generation-row.ts";
import type { BudgetSample } from "./latency-budget.ts";

/** What a row says of the way to the first delta. `prefill` is as it was stored: the first append is in it, unless that was measured apart. */
export function toBudgetSample(row: GenerationRow): BudgetSample {
  return {
    queue: row.queue_us ?? undefined,
    prefill: row.prefill_us ?? undefined,
    perToken: usPerTokenOf(row),
  };
}
