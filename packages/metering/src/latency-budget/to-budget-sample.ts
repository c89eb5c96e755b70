import { decodedTokensOf, usPerTokenOf } from "../rows/decode-time.ts";
import type { DeliveredRow, GenerationRow } from "../rows/generation-row.ts";
import type { BudgetClass } from "./budget-class.ts";
import type { BudgetSample } from "./latency-budget.ts";

/**
 * What a row says of the way to the first that a reader saw, and to the last of so many tokens. Where the worker has told how long the engine took, `prefill` is that, and what the log says beyond it is `broker`'s: the append, and the way
 * to the reader's node. Else `prefill` is as it was stored. Tokens have no times of their own: `decode` is the mean time of one, for each that the first output lacked.
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

/** From the first output to the last of so many tokens, or of those that there were. */
function usTo(tokens: number, row: GenerationRow): number | undefined {
  if (row.first_us === null) return undefined;
  const lacking = Math.min(decodedTokensOf(row), Math.max(0, tokens - (row.first_tokens ?? 1)));
  return lacking * (usPerTokenOf(row) ?? 0);
}
