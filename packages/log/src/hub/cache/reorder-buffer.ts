/** What does not fit is read from the log too. */
const MAX_EVENTS = 128;
const MAX_BYTES = 256 * 1_024;

/** Live events of one cache that came too early, kept while the log is read for those before them. */
export class ReorderBuffer {
  readonly #events = new Map<number, Uint8Array>();
  #bytes = 0;
  #newestSeq = -1;

  get size(): number {
    return this.#events.size;
  }

  /** The newest event that came too early, kept or not, or is expected; -1 for none. */
  get newestSeq(): number {
    return this.#newestSeq;
  }

  /** An event is stored that has not come. */
  expect(seq: number): void {
    this.#newestSeq = Math.max(this.#newestSeq, seq);
  }

  /** The log does not have the newest event, kept or not: forgets all that came too early, unless a newer one is known by now. */
  forgetExpected(newestSeq: number): void {
    if (newestSeq !== this.#newestSeq) return;
    this.forgetUpTo(Number.POSITIVE_INFINITY);
    this.#newestSeq = -1;
  }

  /** Copies the payload, if it fits. */
  add(seq: number, payload: Uint8Array): void {
    this.expect(seq);
    if (this.#events.has(seq) || this.#events.size === MAX_EVENTS) return;
    if (this.#bytes + payload.length > MAX_BYTES) return;
    this.#events.set(seq, Uint8Array.from(payload));
    this.#bytes += payload.length;
  }

  /** The event with this seq, which is forgotten then; undefined when it is not kept. */
  take(seq: number): Uint8Array | undefined {
    const payload = this.#events.get(seq);
    if (this.#events.delete(seq)) this.#bytes -= payload!.length;
    return payload;
  }

  forgetUpTo(lastSeq: number): void {
    for (const [seq] of this.#events) if (seq <= lastSeq) this.take(seq);
  }
}
