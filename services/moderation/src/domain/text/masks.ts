import { firstWhere } from "@reprise/protocol";

/** Text that is to read otherwise, in UTF-16 offsets of the channel's text. */
export interface Mask {
  readonly from: number;
  readonly to: number;
  readonly replacement: string;
  /** True if the replacement has text of its own, which must not be dropped with a mask that reaches into this one from before. */
  readonly hasRest?: boolean;
}

/**
 * The masks of one text, by their beginnings; of two with the same beginning the wider one comes first. To add one near the end
 * or to find those of a range takes no walk over all of them, so that a text with thousands of findings costs no more for each.
 */
export class Masks {
  #list: Mask[] = [];
  /** For each mask, how far it and those before it reach: what ends before a place is passed over by halving. */
  #reach: number[] = [];

  /** Replaces one of the same range. */
  add(mask: Mask): void {
    const at = firstWhere(
      this.#list,
      (one) => one.from > mask.from || (one.from === mask.from && one.to <= mask.to),
    );
    const same = this.#list[at];
    const isSame = same?.from === mask.from && same.to === mask.to;
    this.#list.splice(at, isSame ? 1 : 0, mask);
    this.#measure(at);
  }

  /** Those that reach into a range, in their order. */
  *within(from: number, to: number): Generator<Mask> {
    for (let at = firstWhere(this.#reach, (reach) => reach > from); at < this.#list.length; at++) {
      // `at` is less than the number of masks.
      const mask = this.#list[at]!;
      if (mask.from >= to) return;
      if (mask.to > from) yield mask;
    }
  }

  /** Forgets those that end before a place. */
  forget(before: number): void {
    this.#list = this.#list.filter(({ to }) => to > before);
    this.#reach = [];
    this.#measure(0);
  }

  #measure(from: number): void {
    for (let at = from; at < this.#list.length; at++)
      // `at` is less than the number of masks.
      this.#reach[at] = Math.max(this.#reach[at - 1] ?? 0, this.#list[at]!.to);
  }
}
