import type { Observer } from "@reprise/runtime";

export interface TurnObservers {
  readonly firstChunk: Observer;
  readonly chunk: Observer;
  readonly token: Observer;
  readonly durationOf: (error: string) => Observer;
}

/** The end of a request: `ok`, an error, a timeout, or the reason for which the run has stopped it. */
export interface TurnEnd {
  readonly how: "ok" | { readonly error: string };
  /** By its chunks. */
  readonly tokens: number;
}

const NO_ERROR = "";

/** Measures one request to an engine. A chunk costs one observation. */
export class TurnTiming {
  readonly #observers: TurnObservers;
  readonly #beganAtMs = performance.now();
  readonly #onFirst: ((waitedMs: number) => void) | undefined;
  #hasBegun = false;
  /** Time that the engine took after its first chunk. */
  #decodeMs = 0;
  #firstTokens = 0;
  #longestWaitMs = 0;

  /** @param onFirst called when the engine says something for the first time, with how long that took */
  constructor(observers: TurnObservers, onFirst?: (waitedMs: number) => void) {
    this.#observers = observers;
    this.#onFirst = onFirst;
  }

  /** The engine has said something, after so long a wait for it. */
  arrived(waitedMs: number): void {
    if (this.#hasBegun) {
      this.#decodeMs += waitedMs;
      if (waitedMs > this.#longestWaitMs) this.#longestWaitMs = waitedMs;
      this.#observers.chunk.observe(waitedMs / 1_000);
      return;
    }
    this.#hasBegun = true;
    this.#observers.firstChunk.observe(waitedMs / 1_000);
    this.#onFirst?.(waitedMs);
  }

  /** The longest wait for the engine after its first chunk. */
  get longestWaitMs(): number {
    return this.#longestWaitMs;
  }

  /** Records the tokens of its first chunk. */
  firstChunk(tokens: number): void {
    this.#firstTokens ||= tokens;
  }

  ended({ how, tokens }: TurnEnd): void {
    const { token, durationOf } = this.#observers;
    durationOf(how === "ok" ? NO_ERROR : how.error).observe((performance.now() - this.#beganAtMs) / 1_000);
    const behindFirst = tokens - this.#firstTokens;
    if (how === "ok" && behindFirst > 0) token.observe(this.#decodeMs / 1_000 / behindFirst);
  }
}
