import { pause } from "./pause.ts";

export interface RetryOptions {
  /** The pause after the first attempt, in milliseconds. Each further one is twice as long. */
  readonly pauseMs: number;
  /** The longest pause, in milliseconds. Default: `pauseMs`, so that all pauses are equal. */
  readonly maxPauseMs?: number;
  /** No attempt begins later than this after the call, in milliseconds. No limit by default. */
  readonly budgetMs?: number;
  /** No limit by default. */
  readonly maxAttempts?: number;
  /** No attempt begins once it is aborted, and a pause ends with it. A running attempt continues. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Repeats an attempt until it resolves with something other than undefined.
 *
 * The caller decides what is worth another attempt: it resolves with undefined for it, and rejects with everything else.
 * Pauses have jitter, see `backoffMs`.
 * @param attempt is told how many attempts came before: 0, 1, …
 * @returns undefined when the budget or the attempts are used up, or the signal is aborted
 */
export async function retry<T>(
  attempt: (attempts: number) => Promise<T | undefined>,
  { pauseMs, maxPauseMs = pauseMs, budgetMs, maxAttempts, signal }: RetryOptions,
): Promise<T | undefined> {
  const endMs = performance.now() + (budgetMs ?? Number.POSITIVE_INFINITY);
  for (let attempts = 0; !signal?.aborted;) {
    const result = await attempt(attempts++);
    if (result !== undefined) return result;
    const waitMs = backoffMs(attempts - 1, pauseMs, maxPauseMs);
    if (attempts === maxAttempts || performance.now() + waitMs > endMs) return undefined;
    await pause(waitMs, signal);
  }
  return undefined;
}

/**
 * Repeats a call while it rejects with what is worth another attempt.
 * @param isTransient says so of a rejection, and may report it
 * @throws a rejection that is not transient; the last one when the budget or the attempts are used up; the signal's reason once it is aborted
 */
export async function retryRejected<T>(
  call: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
  options: RetryOptions,
): Promise<T> {
  let rejection: unknown;
  const done = await retry(async () => {
    try {
      return { result: await call() };
    } catch (error) {
      if (!isTransient(error)) throw error;
      rejection = error;
      return undefined;
    }
  }, options);
  if (done) return done.result;
  options.signal?.throwIfAborted();
  throw rejection;
}

/**
 * Exponential backoff with jitter: between half of the full pause and all of it, so that what failed together does not come back together.
 * @param attempts how many have failed before the one that has just failed
 */
export function backoffMs(
  attempts: number,
  pauseMs: number,
  maxPauseMs: number,
  random = Math.random(),
): number {
  return Math.min(pauseMs * 2 ** attempts, maxPauseMs) * (0.5 + random / 2);
}
