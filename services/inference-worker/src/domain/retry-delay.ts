import { backoffMs } from "@reprise/async";

/*
 * When an engine that could not take a request is asked again. Many generations fail in the same moment when an engine does: the random
 * part keeps them from coming back in one.
 */

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8_000;

/**
 * @param tries how often in a row it has failed before
 * @param random from 0 to 1
 */
export function retryDelayMs(tries: number, random: number): number {
  return backoffMs(tries, FIRST_DELAY_MS, LONGEST_DELAY_MS, random);
}

export interface Busy {
  readonly tries: number;
  readonly random: number;
  /** When the engine wants to be asked again, if it has said so. */
  readonly retryAfterMs: number | undefined;
  /** Until the policy's time for the first token is up. */
  readonly leftMs: number;
}

/** Returns the delay before a busy engine is asked again, at least `retryAfterMs`. Undefined if the policy's time would be over before. */
export function busyRetryDelayMs({ tries, random, retryAfterMs, leftMs }: Busy): number | undefined {
  const waitMs =
    retryAfterMs === undefined ? retryDelayMs(tries, random) : retryAfterMs + retryDelayMs(0, random);
  return waitMs < leftMs ? waitMs : undefined;
}
