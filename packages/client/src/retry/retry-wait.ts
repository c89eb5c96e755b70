import { unlessAborted } from "./deadline.ts";
import type { RetryDelay } from "./retry-policy.ts";
import type { ClientRuntime } from "./runtime.ts";

/** A timer that fires this much too late, in milliseconds, belongs to a device that slept. Browsers delay those of hidden pages by up to a minute. */
const SLEPT_AFTER_MS = 90_000;

/**
 * Waits before the next try. A wake-up (the network is back, the page is visible, the device has slept) ends the backoff, and
 * what went before it counts no longer: the network was away, not the platform. The server's own delay is kept in any case.
 * @returns whether there was a wake-up
 * @throws the signal's reason when that is aborted
 */
export function waitForRetry(
  { serverMs, backoffMs, wakeMs }: RetryDelay,
  runtime: ClientRuntime,
  signal: AbortSignal,
): Promise<boolean> {
  return unlessAborted(signal, (resolve) => {
    const serverDueMs = runtime.now() + serverMs;
    let dueMs = serverDueMs + backoffMs;
    let woken = false;
    const onTimer = (): void => resolve(woken || runtime.now() - dueMs > SLEPT_AFTER_MS);
    let cancelTimer = runtime.setTimer(onTimer, serverMs + backoffMs);
    const stopListening = runtime.onWake(() => {
      if (woken) return;
      woken = true;
      const restMs = Math.max(0, serverDueMs - runtime.now()) + Math.min(wakeMs, backoffMs);
      dueMs = runtime.now() + restMs;
      cancelTimer();
      cancelTimer = runtime.setTimer(onTimer, restMs);
    });
    return () => {
      cancelTimer();
      stopListening();
    };
  });
}
