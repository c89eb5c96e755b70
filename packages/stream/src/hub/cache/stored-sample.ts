import { asUnixMs, NO_SEQ, type Seq, type UnixMs } from "@reprise/protocol";

const EVERY = 32;

let created = 0;

/**
 * When the broker has stored one event in 32, so that its way to readers can be timed: to know it costs parsing headers. Which events
 * they are differs by cache, so that those of short generations are among them. The newest sample alone is kept.
 */
export class StoredSample {
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
