/**
 * A list that only grows, as a value: adding to one shares what it has with the list before. It costs the same however long the list is,
 * and an older value stays as it was.
 */
export class Growing<T> {
  readonly #shared: T[];
  readonly length: number;

  constructor(shared: T[] = [], length = shared.length) {
    this.#shared = shared;
    this.length = length;
  }

  with(item: T): Growing<T> {
    // Another value has grown from this one already: its items are not this one's. Nor are those of an empty list that is a constant.
    const isOwn = this.length > 0 && this.#shared.length === this.length;
    const shared = isOwn ? this.#shared : this.#shared.slice(0, this.length);
    shared.push(item);
    return new Growing(shared, this.length + 1);
  }

  at(index: number): T | undefined {
    return index < this.length ? this.#shared[index] : undefined;
  }

  /** The index of the first item from which the predicate holds for all items; the length if there is none. */
  firstWhere(isSo: (item: T) => boolean): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      // `middle` is less than the length.
      if (isSo(this.#shared[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  toArray(): T[] {
    return this.#shared.slice(0, this.length);
  }
}
