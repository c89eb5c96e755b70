/** A sum over rows that another of its kind can be added to. */
export interface Accumulator<Row, Self> {
  add(row: Row): void;
  merge(other: Self): void;
}

export interface Group<Sum> {
  readonly key: readonly string[];
  readonly rows: number;
  readonly sum: Sum;
}

export interface GroupedSums<Sum> {
  /** Those with the most rows first, and in the order of their keys where those are as many. */
  readonly groups: readonly Group<Sum>[];
  /** All that is in no group of its own; undefined where there is nothing. */
  readonly other: Omit<Group<Sum>, "key"> | undefined;
}

export interface GroupsOptions<Row, Sum> {
  readonly keyOf: (row: Row) => readonly string[];
  readonly create: () => Sum;
  /** Groups that are kept apart while rows are read. Default 1,000: what comes beyond is in `other`. */
  readonly mostKept?: number;
  /** Groups that are kept apart, and no others. Default: any. */
  readonly only?: readonly (readonly string[])[];
}

const MOST_KEPT = 1_000;

/** Sums rows up by keys. Memory is bounded for any rows. */
export class Groups<Row, Sum extends Accumulator<Row, Sum>> {
  readonly #options: GroupsOptions<Row, Sum>;
  readonly #groups = new Map<string, { key: readonly string[]; rows: number; sum: Sum }>();
  readonly #only: ReadonlySet<string> | undefined;
  #other: { rows: number; sum: Sum } | undefined;

  constructor(options: GroupsOptions<Row, Sum>) {
    this.#options = options;
    this.#only = options.only && new Set(options.only.map((key) => JSON.stringify(key)));
  }

  add(row: Row): void {
    const { keyOf, mostKept = MOST_KEPT } = this.#options;
    const key = keyOf(row);
    const name = JSON.stringify(key);
    let group = this.#groups.get(name);
    if (!group && this.#groups.size < mostKept && (this.#only?.has(name) ?? true)) {
      group = { key, rows: 0, sum: this.#options.create() };
      this.#groups.set(name, group);
    }
    const into = group ?? (this.#other ??= this.#empty());
    into.rows++;
    into.sum.add(row);
  }

  /** @param limit of groups; the others are merged into `other` */
  take(limit: number): GroupedSums<Sum> {
    const sorted = [...this.#groups.values()].toSorted(
      (a, b) => b.rows - a.rows || (JSON.stringify(a.key) < JSON.stringify(b.key) ? -1 : 1),
    );
    const rest = [...sorted.slice(limit), ...(this.#other ? [this.#other] : [])];
    const groups = sorted.slice(0, limit);
    if (rest.length === 0) return { groups, other: undefined };
    const other = this.#empty();
    for (const { rows, sum } of rest) {
      other.rows += rows;
      other.sum.merge(sum);
    }
    return { groups, other };
  }

  #empty() {
    return { rows: 0, sum: this.#options.create() };
  }
}
