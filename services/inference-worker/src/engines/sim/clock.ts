import type { SimOptions } from "@reprise/protocol";
import { DueQueue } from "./due-queue.ts";

/** Time as the simulator sees it, in milliseconds since any fixed point. */
export interface Clock {
  now(): number;
  /** Sleeps on behalf of one generation. Dispose of it when the generation ends. */
  createSleeper(signal: AbortSignal): Sleeper;
}

export interface Sleeper extends Disposable {
  /**
   * Resolves in a later turn of the event loop, not before `atMs`; never for Infinity. One sleep at a time.
   * Rejects with the signal's reason as soon as that aborts.
   */
  sleepUntil(atMs: number): Promise<void>;
}

/** Tokens that may be sent in a row before the event loop gets a turn. */
const MAX_BURST_TOKENS = 256;

/** When a run's tokens are due: each by an absolute time, so that late ones catch up. */
export class Schedule implements Disposable {
  readonly #clock: Clock;
  readonly #sleeper: Sleeper;
  readonly #firstMs: number;
  readonly #intervalMs: number;
  #burst = 0;

  constructor(
    clock: Clock,
    signal: AbortSignal,
    { first_token_ms: afterMs, tokens_per_second: perSecond }: SimOptions,
  ) {
    this.#clock = clock;
    this.#sleeper = clock.createSleeper(signal);
    this.#firstMs = clock.now() + afterMs;
    this.#intervalMs = perSecond === 0 ? 0 : 1_000 / perSecond;
  }

  /** @returns undefined if the n-th token from 0 may be sent at once */
  untilDue(n: number): Promise<void> | undefined {
    const dueMs = this.#firstMs + n * this.#intervalMs;
    if (this.#clock.now() >= dueMs && this.#burst++ < MAX_BURST_TOKENS) return undefined;
    this.#burst = 1;
    return this.#sleeper.sleepUntil(dueMs);
  }

  sleepForEver(): Promise<void> {
    return this.#sleeper.sleepUntil(Number.POSITIVE_INFINITY);
  }

  [Symbol.dispose](): void {
    this.#sleeper[Symbol.dispose]();
  }
}

/** A timer with a longer delay fires at once. A later time takes several timers. */
const LONGEST_TIMER_MS = 2_147_483_647;

interface Sleep {
  readonly atMs: number;
  readonly wake: () => void;
  over: boolean;
}

/**
 * The real clock. A thousand generations at 50 tokens a second sleep 50,000 times a second, so a sleep costs neither a timer
 * nor an abort listener of its own: all share one timer, set for the sleep that is due first, and a generation has one
 * listener. It takes less than half the CPU of `timers/promises`. An abandoned sleep stays queued until it is due.
 */
export function createClock(): Clock {
  const queue = new DueQueue<Sleep>();
  let sleeping = 0;
  let timer: NodeJS.Timeout | undefined;
  let timerAtMs = Number.POSITIVE_INFINITY;

  function disarm(): void {
    clearTimeout(timer);
    timerAtMs = Number.POSITIVE_INFINITY;
  }

  function arm(): void {
    const atMs = queue.first?.atMs ?? Number.POSITIVE_INFINITY;
    if (atMs >= timerAtMs) return;
    clearTimeout(timer);
    timerAtMs = atMs;
    const delayMs = Math.ceil(atMs - performance.now());
    timer = setTimeout(wakeDue, Math.min(Math.max(delayMs, 1), LONGEST_TIMER_MS));
  }

  function wakeDue(): void {
    timerAtMs = Number.POSITIVE_INFINITY;
    const now = performance.now();
    for (let first = queue.first; first && first.atMs <= now; first = queue.first) {
      queue.shift();
      if (end(first)) first.wake();
    }
    arm();
  }

  /** Ends a sleep; true if it was not over yet. The last one removes the timer too, which would keep the process alive. */
  function end(sleep: Sleep): boolean {
    if (sleep.over) return false;
    sleep.over = true;
    if (--sleeping === 0) {
      queue.clear();
      disarm();
    }
    return true;
  }

  function begin(atMs: number, wake: () => void): Sleep {
    const sleep: Sleep = { atMs, wake, over: false };
    sleeping++;
    if (atMs <= performance.now()) setImmediate(() => end(sleep) && wake());
    else if (atMs !== Number.POSITIVE_INFINITY) {
      queue.push(sleep);
      arm();
    }
    return sleep;
  }

  return {
    now: () => performance.now(),
    createSleeper(signal) {
      let current: { sleep: Sleep; reject: (reason: unknown) => void } | undefined;
      const onAbort = () => {
        if (current && end(current.sleep)) current.reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      return {
        sleepUntil(atMs) {
          if (signal.aborted) return Promise.reject(signal.reason as Error);
          return new Promise<void>((resolve, reject) => {
            current = { sleep: begin(atMs, resolve), reject };
          });
        },
        [Symbol.dispose]() {
          signal.removeEventListener("abort", onAbort);
          if (current) end(current.sleep);
        },
      };
    },
  };
}
