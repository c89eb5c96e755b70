import type { Usage } from "@reprise/protocol";
import type { Observer } from "@reprise/runtime";

export interface TokenObservers {
  readonly input: Observer;
  readonly output: Observer;
}

/**
 * Observes the tokens of a run's requests to engines by what the log says of them, which is what is billed: the input counts once for a
 * generation, and of a request that was stopped what was stored.
 */
export class TokenMeter {
  #told: Usage;
  #observers: TokenObservers | undefined;

  /** @param before what the log says when the run begins: another run has observed that */
  constructor(before: Usage) {
    this.#told = before;
  }

  /** Counts all further usage as that of a request with these labels. */
  asked(observers: TokenObservers): void {
    this.#observers = observers;
  }

  /** The generation has used so much by now. */
  used(usage: Usage): void {
    const input = (usage.input_tokens ?? 0) - (this.#told.input_tokens ?? 0);
    const output = usage.output_tokens - this.#told.output_tokens;
    this.#told = usage;
    if (input > 0) this.#observers?.input.observe(input);
    if (output > 0) this.#observers?.output.observe(output);
  }
}
