import { type Client, type ClientOptions, createClient } from "../client.ts";
import type { ClientRuntime } from "../retry/runtime.ts";

/** Longer than any pause between tries, so that timers tell what they are for. */
export const IDLE_TIMEOUT_MS = 100_000;

export interface TestRuntime extends ClientRuntime {
  /** The pauses between tries, in milliseconds. Each was over at once, and moved the clock. */
  readonly pauses: readonly number[];
  /** Resolves with what makes the next watchdog that is armed bite. Of themselves they never do. */
  nextWatchdog(): Promise<() => void>;
  advance(ms: number): void;
  /** The network is back, says the device. */
  wake(): void;
  /** Number of listeners that wait for a wake-up. */
  readonly listeners: number;
  /** From here on pauses last until they are woken from. */
  holdPauses(): void;
}

/** A client of the server at a URL. @param options instead of a key and a runtime for tests */
export function createTestClient(url: string, options: Partial<ClientOptions> = {}): Client {
  return createClient({
    url,
    apiKey: "rk_x",
    runtime: createTestRuntime(),
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    ...options,
  });
}

/** A runtime whose time advances only in pauses. */
export function createTestRuntime({ random = () => 0.5 }: { random?: () => number } = {}): TestRuntime {
  const pauses: number[] = [];
  let nowMs = Date.parse("2026-11-21T00:00:00Z");
  const listeners = new Set<() => void>();
  let holds = false;
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
      if (holds) return () => {};
      const timer = setImmediate(() => {
        nowMs += delayMs;
        callback();
      });
      return () => clearImmediate(timer);
    },
    onWake(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    wake() {
      holds = false;
      for (const callback of listeners) callback();
    },
    get listeners() {
      return listeners.size;
    },
    holdPauses: () => (holds = true),
    nextWatchdog: () => new Promise((resolve) => (onArmed = resolve)),
    advance: (ms) => (nowMs += ms),
  };
}
