/** Longer than work holds up the event loop: the process was stopped, or had no CPU. */
const STALL_MS = 1_000;
const TICK_MS = 250;
/** In how many turns of the event loop all is read that has come meanwhile: connections in the first one, their requests in the next. */
const FRESH_TURNS = 3;

/** The time for which the process did not run. */
export interface StalledTime {
  /** When a request that is read now has arrived at the latest guess: when the process stopped, if it has only just continued. */
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
  #untilMs = 0;
  #isFresh = false;

  constructor(nowMs = performance.now()) {
    this.#seenAtMs = nowMs;
  }

  look(nowMs: number): void {
    if (nowMs - this.#seenAtMs > STALL_MS) {
      this.#fromMs = this.#seenAtMs;
      this.#untilMs = nowMs;
      this.#isFresh = true;
      afterTurns(FRESH_TURNS, () => (this.#isFresh = false));
    }
    this.#seenAtMs = nowMs;
  }

  arrivalAt(nowMs: number): number {
    this.look(nowMs);
    return this.#isFresh ? this.#fromMs : nowMs;
  }

  within(fromMs: number, toMs: number): number {
    return Math.max(0, Math.min(toMs, this.#untilMs) - Math.max(fromMs, this.#fromMs));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function afterTurns(turns: number, then: () => void): void {
  setImmediate(() => (turns > 1 ? afterTurns(turns - 1, then) : then()));
}
