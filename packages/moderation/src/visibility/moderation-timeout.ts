import type { Seq } from "@reprise/protocol";

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 10_000;

/**
 * When to report that a log is not being judged: once that has lasted for the policy's time, once for each place at which judging has
 * come to a stop, and again, with longer and longer pauses, until it is taken.
 */
export class ModerationTimeout {
  readonly #afterMs: number;
  #judged = 0;
  /** Time since which the events after `#judged` have waited for a verdict. */
  #since: number | undefined;
  #reported = -1;
  #tryAt = 0;
  #waitMs = FIRST_WAIT_MS;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** To be told now and then how far a log is judged. Returns whether it is to be reported now. */
  observe(now: number, judged: Seq, isUnjudged: boolean): boolean {
    if (!isUnjudged) this.#since = undefined;
    else if (this.#since === undefined || judged > this.#judged) this.#since = now;
    if (judged > this.#judged) {
      this.#tryAt = 0;
      this.#waitMs = FIRST_WAIT_MS;
    }
    this.#judged = judged;
    const isDue = this.#judged > this.#reported && now >= this.#tryAt;
    return isDue && this.#since !== undefined && now - this.#since >= this.#afterMs;
  }

  /** It is being reported. */
  reporting(now: number): void {
    this.#tryAt = now + this.#waitMs;
    this.#waitMs = Math.min(MAX_WAIT_MS, this.#waitMs * 2);
  }

  /** It was reported for this place. */
  reported(judged: Seq): void {
    this.#reported = Math.max(this.#reported, judged);
  }
}
