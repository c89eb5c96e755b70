import { pause } from "@reprise/async";

/** Enough for a process that is not busy to read what it lost to, and to publish again. */
const FIRST_MS = 25;
const LONGEST_MS = 1_000;
/** Any service may ask. Pauses in which no other process has appended come to this at most, and then no request is heard for a while. */
const MAX_USELESS_MS = 5_000;
const UNHEARD_MS = 60_000;

/** The pause that a writer makes when another process asks for it. */
export class YieldPause {
  #ms = FIRST_MS;
  /** Until when the last request holds, by `performance.now()`. */
  #untilMs = Number.NEGATIVE_INFINITY;
  #isRequested = false;
  #over: AbortController | undefined;
  /** Milliseconds of pauses since another process's event. */
  #uselessMs = 0;
  #unheardUntilMs = Number.NEGATIVE_INFINITY;

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** A further request, without an event since, says that the pause before was too short. */
  request(): void {
    const now = performance.now();
    if (now < this.#unheardUntilMs) return;
    const isRepeated = now < this.#untilMs + LONGEST_MS;
    this.#ms = isRepeated ? Math.min(2 * this.#ms, LONGEST_MS) : FIRST_MS;
    this.#untilMs = now + this.#ms;
    this.#isRequested = true;
  }

  /** Resolves when the time of all requests is up, a second from now at the latest, or at `end`. */
  async wait(): Promise<"waited"> {
    const over = new AbortController();
    this.#over = over;
    const beganMs = performance.now();
    const latestMs = beganMs + LONGEST_MS;
    for (let leftMs = this.#leftMs(latestMs); leftMs > 0 && !over.signal.aborted;) {
      await pause(leftMs, over.signal);
      leftMs = this.#leftMs(latestMs);
    }
    this.#isRequested = false;
    this.#over = undefined;
    const nowMs = performance.now();
    this.#uselessMs += nowMs - beganMs;
    if (this.#uselessMs >= MAX_USELESS_MS) {
      this.#uselessMs = 0;
      this.#unheardUntilMs = nowMs + UNHEARD_MS;
    }
    return "waited";
  }

  #leftMs(latestMs: number): number {
    return Math.min(this.#untilMs, latestMs) - performance.now();
  }

  /** Ends the pause that `wait` makes. */
  end(): void {
    this.#over?.abort();
  }

  /** The other process has appended: its requests are met. */
  reset(): void {
    this.#isRequested = false;
    this.#untilMs = Number.NEGATIVE_INFINITY;
    this.#uselessMs = 0;
    this.#unheardUntilMs = Number.NEGATIVE_INFINITY;
  }
}
