import { type StreamSeq, type Seq, STREAM_START } from "@reprise/protocol";

/** A place in the log whose stream sequence is known, so that reading can begin there. */
interface Mark {
  readonly seq: Seq;
  readonly streamSeq: StreamSeq;
}

/** Number of events between two marks, except the newest. */
export const INDEX_EVERY = 64;

/** Where one generation's events lie in their stream: every 64th of them, and the newest that was told. */
export class SeqIndex {
  #marks: Mark[] = [];

  /** The stream sequence of the newest mark; `STREAM_START` for none. */
  get lastStreamSeq(): StreamSeq {
    return this.#marks.at(-1)?.streamSeq ?? STREAM_START;
  }

  /** The nearest place before an event from which the log can be read towards it. */
  streamSeqBefore(seq: Seq): StreamSeq {
    return this.#marks.findLast((mark) => mark.seq < seq)?.streamSeq ?? STREAM_START;
  }

  add(mark: Mark): void {
    const [previous, last] = this.#marks.slice(-2);
    if (previous && last && last.seq - previous.seq < INDEX_EVERY) this.#marks.pop();
    this.#marks.push(mark);
  }
}
