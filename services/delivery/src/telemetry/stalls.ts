import { performance } from "node:perf_hooks";

/** Longer than work holds up the event loop: the process was stopped, or had no CPU. */
const STALL_MS = 1_000;
const TICK_MS = 250;
/** Once the event loop has waited for so long since, it has read all that had come meanwhile. */
const DRAINED_MS = 5;
/** It has done so by then at the latest. */
const MOST_DRAINING_MS = 1_000;

/** The time for which the process did not run. */
export interface StalledTime {
  /** Estimates when a request that is read now arrived: when the process stopped, if it has just resumed. */
  arrivalAt(nowMs: number): number;
  /** For how many milliseconds of this span the process did not run. */
  within(fromMs: number, toMs: number): number;
}

export const NO_STALLS: StalledTime = { arrivalAt: (nowMs) => nowMs, within: () => 0 };

/**
 * Notices that the process was stopped (SIGSTOP, a frozen machine) or starved: clients have waited then, though no clock of a request
 * has run. Only the last stall is kept. All times are those of `performance.now()`.
 */
export class Stalls implements StalledTime, Disposable {
  readonly #timer = setInterval(() => this.look(performance.now()), TICK_MS).unref();
  #seenAtMs: number;
  #fromMs = 0;
  #untilMs = Number.NEGATIVE_INFINITY;
  #idleMs = 0;
  readonly #readIdleMs: () => number;

  /** @param readIdleMs for how long the event loop has had nothing to do so far */
  constructor(nowMs = performance.now(), readIdleMs = () => performance.nodeTiming.idleTime) {
    this.#seenAtMs = nowMs;
    this.#readIdleMs = readIdleMs;
  }

  look(nowMs: number): void {
    if (nowMs - this.#seenAtMs > STALL_MS) {
      this.#fromMs = this.#seenAtMs;
      this.#untilMs = nowMs;
      this.#idleMs = this.#readIdleMs();
    }
    this.#seenAtMs = nowMs;
  }

  arrivalAt(nowMs: number): number {
    this.look(nowMs);
    const isDraining =
      nowMs - this.#untilMs < MOST_DRAINING_MS && this.#readIdleMs() - this.#idleMs < DRAINED_MS;
    return isDraining ? this.#fromMs : nowMs;
  }

  within(fromMs: number, toMs: number): number {
    return Math.max(0, Math.min(toMs, this.#untilMs) - Math.max(fromMs, this.#fromMs));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
