/** Names that are counted apart, of at most twice as many that are kept. */
const MOST_NAMES = 50_000;

/**
 * Counts names in bounded memory: exactly while there are at most twice as many as `mostNames`. Beyond, small counts are dropped (Misra-Gries, many at a time):
 * a count is then too small by at most `error`,
 * which is never more than one in `mostNames` of all that was counted. So no name that is larger than that is lost, in any order of names.
 */
export class KeyCounts {
  readonly #mostNames: number;
  readonly #counts = new Map<string, number>();
  #error = 0;

  /** @param mostNames default 50,000 */
  constructor(mostNames: number = MOST_NAMES) {
    this.#mostNames = mostNames;
  }

  /** By how much a count may be too small. */
  get error(): number {
    return this.#error;
  }

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    if (this.#counts.size > this.#mostNames * 2) this.#dropSmall();
  }

  [Symbol.iterator](): Iterator<readonly [name: string, times: number]> {
    return this.#counts[Symbol.iterator]();
  }

  /** Takes from each name as much as the first name has that is not to be kept: `mostNames` of them have that much at least, so as much is never taken more often than names were counted by that number. */
  #dropSmall(): void {
    const sorted = Float64Array.from(this.#counts.values()).toSorted();
    const taken = sorted[sorted.length - this.#mostNames] ?? 0;
    this.#error += taken;
    for (const [name, times] of this.#counts)
      if (times <= taken) this.#counts.delete(name);
      else this.#counts.set(name, times - taken);
  }
}
