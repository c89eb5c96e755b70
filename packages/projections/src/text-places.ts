import type { Annotation } from "@reprise/protocol";
import { Growing } from "./growing.ts";

/** Offsets of the events' texts in their concatenation, in UTF-16 code units. Immutable: adding a text makes a new value. */
export class TextPlaces {
  readonly #seqs: Growing<number>;
  readonly #starts: Growing<number>;
  /** Length of the whole text. */
  readonly length: number;

  constructor(seqs = new Growing<number>(), starts = new Growing<number>(), length = 0) {
    this.#seqs = seqs;
    this.#starts = starts;
    this.length = length;
  }

  /** Returns a copy with the text of a further event at the end. */
  with(seq: number, { length }: string): TextPlaces {
    return new TextPlaces(this.#seqs.with(seq), this.#starts.with(this.length), this.length + length);
  }

  /** Where the text is that an annotation is of. Without a range, and where that begins in none of these texts, it is of all of them. */
  rangeOf({
    from_seq: fromSeq,
    from_offset: from,
    to_offset: to,
  }: Pick<Annotation, "from_seq" | "from_offset" | "to_offset">): [start: number, end: number] {
    const { length } = this;
    if (fromSeq === undefined || from === undefined || to === undefined) return [0, length];
    const index = this.#seqs.firstWhere((seq) => seq >= fromSeq);
    const start = this.#starts.at(index);
    if (this.#seqs.at(index) !== fromSeq || start === undefined) return [0, length];
    return [Math.min(start + from, length), Math.min(start + to, length)];
  }
}
