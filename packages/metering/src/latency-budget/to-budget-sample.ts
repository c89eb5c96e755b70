import { usPerTokenOf } from "../rows/decode-time.ts";
import type { DeliveredRow } from "../rows/generation-row.ts";
import type { BudgetSample } from "./latency-budget.ts";

/**
 * What a row says of the way to the first that a reader saw. Where the worker has told how long the engine took, `prefill` is that, and what the log says beyond it is `broker`'s: the append, and the way
 * to the reader's node. Else `prefill` is as it was stored.
 */
export function toBudgetSample(row: DeliveredRow): BudgetSample {
  const { queue_us: queue, prefill_us: storedPrefill, moderation_mode: moderation, delivery } = row;
  const { engine_first_us: engineFirst = null, received_us: received = null } = delivery ?? {};
  const isApart = storedPrefill !== null && engineFirst !== null;
  const append = isApart ? Math.max(0, storedPrefill - engineFirst) : null;
  return {
    queue: queue ?? undefined,
    prefill: (isApart ? Math.min(storedPrefill, engineFirst) : storedPrefill) ?? undefined,
    broker: append === null && received === null ? undefined : (append ?? 0) + (received ?? 0),
    moderation: moderation === null ? undefined : (delivery?.held_us ?? undefined),
    delivery: delivery?.sent_us ?? undefined,
    client: delivery?.round_trip_us ?? undefined,
    perToken: usPerTokenOf(row),
  };
}
