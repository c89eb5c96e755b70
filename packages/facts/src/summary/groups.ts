import { KeyCounts } from "./key-counts.ts";

/** A sum over rows that another of its kind can be added to. */
export interface Accumulator<Row, Self> {
  add(row: Row): void;
  merge(other: Self): void;
}

/** The key of a group: a value for each dimension. */
export type GroupKey = readonly string[];

export interface Group<Sum> {
  readonly key: GroupKey;
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
  readonly keyOf: (row: Row) => GroupKey;
  readonly create: () => Sum;
  /** Groups that have a sum of their own while rows are read. Default 1,000. */
  readonly mostKept?: number;
  /** Groups that are kept apart, and no others. Default: any. */
  readonly only?: readonly GroupKey[];
  /** Counts groups beyond those: for tests. */
  readonly counts?: KeyCounts;
}

const MOST_KEPT = 1_000;

/**
 * Sums rows up by keys, in bounded memory. The first groups that come have sums, and the rows of all others are counted: so it is known afterwards whether the largest have sums. Where they have not, rows are
 * read once more for those that `largest` names, as `only`.
 */
export class Groups<Row, Sum extends Accumulator<Row, Sum>> {
  readonly #options: GroupsOptions<Row, Sum>;
  readonly #groups = new Map<string, { key: GroupKey; rows: number; sum: Sum }>();
  readonly #only: ReadonlySet<string> | undefined;
  readonly #beyond: KeyCounts;
  #other: { rows: number; sum: Sum } | undefined;

  constructor(options: GroupsOptions<Row, Sum>) {
    this.#options = options;
    this.#only = options.only && new Set(options.only.map(nameOf));
    this.#beyond = options.counts ?? new KeyCounts();
  }

  add(row: Row): void {
    const { keyOf, mostKept = MOST_KEPT } = this.#options;
    const key = keyOf(row);
    const name = nameOf(key);
    let group = this.#groups.get(name);
    if (!group && this.#groups.size < mostKept && (this.#only?.has(name) ?? true)) {
      group = { key, rows: 0, sum: this.#options.create() };
      this.#groups.set(name, group);
    }
    if (!group && !this.#only) this.#beyond.add(name);
    const into = group ?? (this.#other ??= this.#empty());
    into.rows++;
    into.sum.add(row);
  }

  /** True if `take` has the largest groups: otherwise rows are to be read again for those that `largest` names. */
  hasLargest(limit: number): boolean {
    const [name, least] = this.#sorted()[limit - 1] ?? [];
    if (name === undefined || !least) return true;
    for (const [beyond, times] of this.#beyond) {
      const most = times + this.#beyond.error;
      if (most > least.rows || (most === least.rows && beyond < name)) return false;
    }
    return true;
  }

  /** The keys of the largest groups, with a sum or without. */
  largest(limit: number): GroupKey[] {
    const kept = [...this.#groups].map(([name, { rows }]) => [name, rows] as const);
    return [...kept, ...this.#beyond]
      .toSorted(([one, more], [other, less]) => less - more || (one < other ? -1 : 1))
      .slice(0, limit)
      .map(([name]) => keyNamed(name));
  }

  /** @param limit of groups; the others are merged into `other` */
  take(limit: number): GroupedSums<Sum> {
    const sorted = this.#sorted().map(([, group]) => group);
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

  #sorted(): (readonly [name: string, group: Group<Sum>])[] {
    return [...this.#groups].toSorted(([one, a], [other, b]) => b.rows - a.rows || (one < other ? -1 : 1));
  }

  #empty() {
    return { rows: 0, sum: this.#options.create() };
  }
}

/** No two keys of as many values have the same. */
function nameOf(key: GroupKey): string {
  const [only] = key;
  return key.length === 1 && only !== undefined ? `.${only}` : JSON.stringify(key);
}

function keyNamed(name: string): GroupKey {
  return name.startsWith(".") ? [name.slice(1)] : (JSON.parse(name) as GroupKey);
}
