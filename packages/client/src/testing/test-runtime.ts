import type { ClientRuntime } from "../runtime.ts";

/** Longer than any pause between tries, so that timers tell what they are for. */
export const IDLE_TIMEOUT_MS = 100_000;

export interface TestRuntime extends ClientRuntime {
  /** The pauses between tries, in milliseconds. Each was over at once, and moved the clock. */
  readonly pauses: readonly number[];
  /** Resolves with what makes the next watchdog that is armed bite. Of themselves they never do. */
  nextWatchdog(): Promise<() => void>;
  advance(ms: number): void;
}

/** Time that stands still, save in pauses. */
export function createTestRuntime({ random = () => 0.5 }: { random?: () => number } = {}): TestRuntime {
  const pauses: number[] = [];
  let nowMs = Date.parse("2026-11-21T00:00:00Z");
  let onArmed: ((bite: () => void) => void) | undefined;
  return {
    pauses,
    now: () => nowMs,
    random,
    setTimer(callback, delayMs) {
      if (delayMs === IDLE_TIMEOUT_MS) {
        onArmed?.(callback);
        onArmed = undefined;
        return () => {};
      }
      pauses.push(delayMs);
      const timer = setImmediate(() => {
        nowMs += delayMs;
        callback();
      });
      return () => clearImmediate(timer);
    },
    nextWatchdog: () => new Promise((resolve) => (onArmed = resolve)),
    advance: (ms) => (nowMs += ms),
  };
}
