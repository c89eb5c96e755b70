import { setTimeout as delay } from "node:timers/promises";
import { RepriseError } from "@reprise/protocol";

/** Maximum wait of a test, in milliseconds: it ends a test that hangs, and is far longer than any step takes, even on a busy machine. */
export const PATIENCE_MS = 120_000;
const INTERVAL_MS = 10;

/**
 * Returns what a check returns as soon as it no longer throws. For what others do in their own time.
 * @throws its last error after two minutes
 */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  // Benches and campaigns import this package too: outside of a test run, Vitest is not there to be loaded.
  const { vi } = await import("vitest");
  return vi.waitFor(check, { timeout: PATIENCE_MS, interval: INTERVAL_MS });
}

const PAUSE_MS = 20;

/**
 * Asks until the broker answers: the broker, or this process, may be paused for longer than a service would wait.
 * @throws its last error after two minutes
 */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (const giveUpMs = performance.now() + PATIENCE_MS; ;) {
    try {
      return await ask();
    } catch (error) {
      const isAway = error instanceof RepriseError && error.code === "broker_unavailable";
      if (!isAway || performance.now() > giveUpMs) throw error;
      // The timer must not keep a process alive whose test has given up waiting.
      await delay(PAUSE_MS, undefined, { ref: false });
    }
  }
}
