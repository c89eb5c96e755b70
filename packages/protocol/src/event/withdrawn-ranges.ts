import type { Seq } from "../seq.ts";
import { firstWhere } from "../first-where.ts";

/** Events of one log, from the first to the last, both included. */
export interface SeqRange {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
}

/** A withdrawal by moderation: a range of text that was replaced, or the end of all text. */
export interface Withdrawal extends SeqRange {
  /** The event that says so. */
  readonly seq: Seq;
  /** Undefined for a halt, which takes the text of every channel. */
  readonly channel: string | undefined;
  readonly replacement: string;
  readonly rule: string;
  readonly category: string;
}

interface Piece extends SeqRange {
  readonly by: Withdrawal;
}

/**
 * The withdrawals of one channel, laid over one another: for each place the last one that covers it. Kept as disjoint pieces in their
 * order, so that a log with thousands of withdrawals costs no more for each event than one with a few.
 */
export class WithdrawnRanges {
  readonly #pieces: Piece[] = [];

  /** Covers what it takes in of earlier ones; what they have beside it stays theirs. */
  lay(by: Withdrawal): void {
    const { fromSeq, toSeq } = by;
    if (toSeq < fromSeq) return;
    const [from, to] = this.#touching(by);
    const touched = this.#pieces.slice(from, to);
    const [first, last] = [touched.at(0), touched.at(-1)];
    const pieces: Piece[] = [{ fromSeq, toSeq, by }];
    if (first && first.fromSeq < fromSeq) pieces.unshift({ ...first, toSeq: (fromSeq - 1) as Seq });
    if (last && last.toSeq > toSeq) pieces.push({ ...last, fromSeq: (toSeq + 1) as Seq });
    this.#pieces.splice(from, to - from, ...pieces);
  }

  /** The last withdrawal that covers a place; undefined where none does. */
  at(seq: Seq): Withdrawal | undefined {
    const piece = this.#pieces[this.#endingFrom(seq)];
    return piece && piece.fromSeq <= seq ? piece.by : undefined;
  }

  /** The range with all of every piece that it touches. */
  widened(range: SeqRange): SeqRange {
    const touched = this.#pieces.slice(...this.#touching(range));
    const [first, last] = [touched.at(0), touched.at(-1)];
    if (!first || !last) return range;
    return {
      fromSeq: first.fromSeq < range.fromSeq ? first.fromSeq : range.fromSeq,
      toSeq: last.toSeq > range.toSeq ? last.toSeq : range.toSeq,
    };
  }

  /** Which pieces overlap a range: from the first index to before the second. */
  #touching({ fromSeq, toSeq }: SeqRange): [from: number, to: number] {
    const from = this.#endingFrom(fromSeq);
    return [from, firstWhere(this.#pieces, (piece) => piece.fromSeq > toSeq)];
  }

  /** Returns the index of the first piece that ends at or after `seq`. */
  #endingFrom(seq: Seq): number {
    return firstWhere(this.#pieces, ({ toSeq }) => toSeq >= seq);
  }
}
