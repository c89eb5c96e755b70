import { LIMITS, RepriseError } from "@reprise/protocol";
import { type RateState, takeUnits, waitForUnits } from "@reprise/tenancy";

const RATE = { limit: LIMITS.inputBytesPerSecond, windowMs: 1_000 };

/**
 * Takes the bytes of one call's entries from those of a second. A call that has more than a second's bytes takes all of them.
 * @param param the limit's name
 * @returns the rate's next state
 * @throws RepriseError `limit_exceeded`
 */
export function takeBytes(param: string, rate: RateState | undefined, bytes: number): RateState {
  const units = Math.min(bytes, RATE.limit);
  const nowMs = performance.now();
  const taken = takeUnits(RATE, rate, units, nowMs);
  if (taken) return taken.state;
  throw beyondBytes(param, RATE.limit, Math.ceil(waitForUnits(RATE, rate, units, nowMs) ?? RATE.windowMs));
}

/** Returns the error for entries that have to wait. */
export function beyondBytes(param: string, limit: number, retryAfterMs: number): RepriseError {
  const message = `${param}: the entries are beyond the limit of ${limit} bytes; send them again after ${retryAfterMs} ms.`;
  return new RepriseError("limit_exceeded", message, { param, retryAfterMs });
}
