import { type Seq, NO_SEQ, BEYOND_LOG } from "@reprise/protocol";

/** Events that do not fit are read from the log too. */
const MAX_EVENTS = 128;
const MAX_BYTES = 256 * 1_024;

/** Live events of one cache that came too early, kept while the log is read for those before them. */
export class ReorderBuffer {
  readonly #events = new Map<Seq, Uint8Array>();
  #bytes = 0;
  #newestSeq = NO_SEQ;

  get size(): number {
    return this.#events.size;
  }

  /** The newest event that came too early, kept or not, or is expected; `NO_SEQ` for none. */
  get newestSeq(): Seq {
    return this.#newestSeq;
  }

  /** An event is stored that has not come. */
  expect(seq: Seq): void {
    this.#newestSeq = Math.max(this.#newestSeq, seq);
  }

  /** The log does not have the newest event, kept or not: forgets all that came too early, unless a newer one is known by now. */
  forgetExpected(newestSeq: Seq): void {
    if (newestSeq !== this.#newestSeq) return;
    this.forgetUpTo(BEYOND_LOG);
    this.#newestSeq = NO_SEQ;
  }

  /** Copies the payload, if it fits. */
  add(seq: Seq, payload: Uint8Array): void {
    this.expect(seq);
    if (this.#events.has(seq) || this.#events.size === MAX_EVENTS) return;
    if (this.#bytes + payload.length > MAX_BYTES) return;
    this.#events.set(seq, Uint8Array.from(payload));
    this.#bytes += payload.length;
  }

  /** The event with this seq, which is forgotten then; undefined when it is not kept. */
  take(seq: Seq): Uint8Array | undefined {
    const payload = this.#events.get(seq);
    // An event that could be deleted was there.
    if (this.#events.delete(seq)) this.#bytes -= payload!.length;
    return payload;
  }

  forgetUpTo(lastSeq: Seq): void {
    for (const [seq] of this.#events) if (seq <= lastSeq) this.take(seq);
  }
}
