import { decodedTokensOf, usPerTokenOf } from "../rows/decode-time.ts";
import type { DeliveredRow, GenerationRow } from "../rows/generation-row.ts";
import type { BudgetClass } from "./budget-class.ts";
import type { BudgetSample } from "./latency-budget.ts";

/**
 * Returns the times of a row until the first output that a reader saw, and until the last of `tokens`. If the worker has reported the engine's time, `prefill`
 * is that, and the rest of the log's time is `broker`'s: the append, and the way
 * to the reader's node. Else `prefill` is as it was stored. Tokens have no times of their own: `decode` is the mean time of one, for each that the first output
 * lacked.
 */
export function toBudgetSample(row: DeliveredRow, { tokens }: Pick<BudgetClass, "tokens">): BudgetSample {
  const { queue_us: queue, prefill_us: storedPrefill, moderation_mode: moderation, delivery } = row;
  const { engine_first_us: engineFirst = null, received_us: received = null } = delivery ?? {};
  const isApart = storedPrefill !== null && engineFirst !== null;
  const append = isApart ? Math.max(0, storedPrefill - engineFirst) : null;
  return {
    queue: queue ?? undefined,
    prefill: (isApart ? Math.min(storedPrefill, engineFirst) : storedPrefill) ?? undefined,
    decode: usTo(tokens, row),
    broker: append === null && received === null ? undefined : (append ?? 0) + (received ?? 0),
    moderation: moderation === null ? undefined : (delivery?.held_us ?? undefined),
    delivery: delivery?.sent_us ?? undefined,
    client: delivery?.round_trip_us ?? undefined,
    perToken: usPerTokenOf(row),
  };
}

/** Returns the time from the first output to the token with this number, or to the last one. */
function usTo(tokens: number, row: GenerationRow): number | undefined {
  if (row.first_us === null) return undefined;
  const lacking = Math.min(decodedTokensOf(row), Math.max(0, tokens - (row.first_tokens ?? 1)));
  return lacking * (usPerTokenOf(row) ?? 0);
}
