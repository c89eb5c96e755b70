/** Counts by name. Names beyond the limit count as `other`, so there are never more than one beyond it. */
export class BoundedCounts {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(name: string, times = 1): void {
    const known = this.#counts.get(name);
    if (known !== undefined) this.#counts.set(name, known + times);
    else if (this.#counts.size < this.#limit) this.#counts.set(name, times);
    else this.#counts.set("other", (this.#counts.get("other") ?? 0) + times);
  }

  merge(others: BoundedCounts): void {
    for (const [name, times] of others.#counts) this.add(name, times);
  }

  /** By name. */
  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}
