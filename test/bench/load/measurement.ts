import { Histogram, type Percentiles } from "../measure/histogram.ts";
import { dueMicrosOf, type Schedule } from "../children/schedule.ts";
import { nowMicros } from "../measure/clock.ts";

/** Callbacks of one reader. */
export interface ReaderEvents {
  /** A token with its due time. */
  onToken: (dueMicros: number) => void;
  /** A token without a due time; the first one of the stream is 0. */
  onCounted: (index: number) => void;
  onLost: () => void;
}

export interface MeasureOrder {
  fromMicros: number;
  /** By which the tokens of the streams read will come. */
  schedule: Schedule;
}

export interface Measured {
  /** From a token's due time to its reader. */
  readonly latencyMicros: Percentiles;
  /** Tokens of the measured time that no reader got, over all readers. */
  readonly missing: number;
  /** Tokens that came twice or after a later one. */
  readonly disordered: number;
  /** Connections that broke. */
  readonly lost: number;
}

/**
 * The observations of all readers of a run. Tokens due before the measured time only warm things up: they count towards nothing. The due
 * times of a stream rise from token to token, so one that does not rise is a repetition or out of order.
 */
export class Measurement {
  readonly #histogram = new Histogram();
  #order: MeasureOrder | undefined;
  #lost = 0;
  #disordered = 0;

  /** Counts tokens from now on. */
  begin(order: MeasureOrder): void {
    this.#order = order;
  }

  /**
   * The callback of one reader for its tokens.
   * @param stream which of the schedule's it reads, for tokens that are only counted
   */
  createListener(stream: number): ReaderEvents {
    let lastDue = 0;
    const onToken = (dueMicros: number) => {
      if (dueMicros <= lastDue) this.#disordered++;
      lastDue = dueMicros;
      if (this.#order && dueMicros >= this.#order.fromMicros) this.#histogram.record(nowMicros() - dueMicros);
    };
    return {
      onToken,
      onCounted: (index) => {
        if (this.#order) onToken(dueMicrosOf(this.#order.schedule, stream, index));
      },
      onLost: () => void this.#lost++,
    };
  }

  get count(): number {
    return this.#histogram.count;
  }

  result(expected: number): Measured {
    const latencyMicros = this.#histogram.percentiles();
    const missing = expected - latencyMicros.count;
    return { latencyMicros, missing, disordered: this.#disordered, lost: this.#lost };
  }
}
