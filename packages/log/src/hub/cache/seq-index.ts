/** A place in the log whose stream sequence is known, so that reading can begin there. */
interface Mark {
  readonly seq: number;
  readonly streamSeq: number;
}

/** So many events lie between two marks, but for the newest. */
export const INDEX_EVERY = 64;

/** Where one generation's events lie in their stream: every 64th of them, and the newest that was told. */
export class SeqIndex {
  #marks: Mark[] = [];

  /** The stream sequence of the newest mark; 0 for none. */
  get lastStreamSeq(): number {
    return this.#marks.at(-1)?.streamSeq ?? 0;
  }

  /** The nearest place before an event from which the log can be read towards it. */
  streamSeqBefore(seq: number): number {
    return this.#marks.findLast((mark) => mark.seq < seq)?.streamSeq ?? 0;
  }

  add(mark: Mark): void {
    const [previous, last] = this.#marks.slice(-2);
    if (previous && last && last.seq - previous.seq < INDEX_EVERY) this.#marks.pop();
    this.#marks.push(mark);
  }
}
