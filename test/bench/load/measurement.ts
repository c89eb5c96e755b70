import { Histogram, type Percentiles } from "../measure/histogram.ts";
import { nowMicros } from "../measure/clock.ts";

export interface Measured {
  /** From a token's due time to its reader, in microseconds. */
  readonly latency: Percentiles;
  /** Tokens of the measured time that no reader got, over all readers. */
  readonly missing: number;
  /** Tokens that came twice or after a later one. */
  readonly disordered: number;
  /** Connections that broke. */
  readonly lost: number;
}

/**
 * What all readers of a run saw. Tokens due before the measured time only warm things up: they count towards nothing. The due
 * times of a stream rise from token to token, so one that does not rise is a repetition or out of order.
 */
export class Measurement {
  readonly #histogram = new Histogram();
  #fromMicros: number;
  #lost = 0;
  #disordered = 0;

  constructor({ fromMicros }: { fromMicros: number }) {
    this.#fromMicros = fromMicros;
  }

  /** Counts tokens that are due from then on. */
  beginAt(fromMicros: number): void {
    this.#fromMicros = fromMicros;
  }

  /** What one reader calls for its tokens. */
  createListener(): { onToken: (dueMicros: number) => void; onLost: () => void } {
    let lastDue = 0;
    return {
      onToken: (dueMicros) => {
        if (dueMicros <= lastDue) this.#disordered++;
        lastDue = dueMicros;
        if (dueMicros >= this.#fromMicros) this.#histogram.record(nowMicros() - dueMicros);
      },
      onLost: () => void this.#lost++,
    };
  }

  get count(): number {
    return this.#histogram.count;
  }

  result(expected: number): Measured {
    const latency = this.#histogram.percentiles();
    return { latency, missing: expected - latency.count, disordered: this.#disordered, lost: this.#lost };
  }
}
