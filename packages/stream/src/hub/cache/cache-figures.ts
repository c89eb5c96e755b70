import {
  asUnixMs,
  BEYOND_LOG,
  type ConsumedInput,
  hasText,
  NO_SEQ,
  type Seq,
  type UnixMs,
} from "@reprise/protocol";

/** Timing of a generation's first output on its way to a node and to readers. */
export interface FirstOutput {
  /** From when the broker stored it, by its clock, until it came, by this process's. In milliseconds. */
  readonly underwayMs: number;
  /** When it came, and when readers could be sent it: undefined before that. `performance.now()`. */
  readonly receivedAtMs: number;
  shownAtMs: number | undefined;
}

/** Times of one generation's events on their way to readers. */
export class CacheFigures {
  /** The first event that says something to readers; beyond the log while there is none. */
  firstOutputSeq: Seq = BEYOND_LOG;
  /** Timing of the first output; undefined if the output was there when the cache was made, or did not come as a message of the live feed. */
  firstOutput: FirstOutput | undefined;
  /** The part of the input that is consumed; undefined unless its input is streamed. */
  input: ConsumedInput | undefined;
  /** When one of the events was stored. */
  readonly sample = new StoredSample();

  get hasOutput(): boolean {
    return this.firstOutputSeq < BEYOND_LOG;
  }

  /** Tells of an event that the cache takes. */
  took(seq: Seq, type: string): void {
    if (this.firstOutputSeq === BEYOND_LOG && hasText(type)) this.firstOutputSeq = seq;
  }

  /** Tells that readers may be sent events up to this one. */
  showed(shownSeq: Seq): void {
    if (this.firstOutput && this.firstOutput.shownAtMs === undefined && this.firstOutputSeq <= shownSeq)
      this.firstOutput.shownAtMs = performance.now();
  }
}

const EVERY = 32;

let created = 0;

/**
 * When the broker has stored one event in 32, so that its way to readers can be timed: to know it costs parsing headers. Which events
 * they are differs by cache, so that those of short generations are among them. The newest sample alone is kept.
 */
class StoredSample {
  readonly #offset = created++ % EVERY;
  /** `NO_SEQ` while there is none. */
  seq = NO_SEQ;
  /** By the broker's clock. */
  storedAtMs: UnixMs = asUnixMs(0);

  isDue(seq: Seq): boolean {
    return (seq + this.#offset) % EVERY === 0;
  }

  take(seq: Seq, storedAtMs: UnixMs): void {
    this.seq = seq;
    this.storedAtMs = storedAtMs;
  }
}
