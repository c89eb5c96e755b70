import type { Accumulator, Group, GroupKey, GroupsOptions } from "./groups.ts";

export interface FirstGroupsOptions<Row, Sum> extends Pick<GroupsOptions<Row, Sum>, "keyOf" | "create"> {
  /** Only groups after this key. Default: from the first. */
  readonly after?: GroupKey | undefined;
  readonly limit: number;
}

/**
 * Sums rows up by keys, for those groups alone that are the first in the order of keys: a page of all groups. Rows come in no order, so twice as many groups are kept as are wanted, and the last half is
 * dropped when there are more: none of those can be among the first any more.
 */
export class FirstGroups<Row, Sum extends Accumulator<Row, Sum>> {
  readonly #options: FirstGroupsOptions<Row, Sum>;
  readonly #groups = new Map<string, { key: GroupKey; rows: number; sum: Sum }>();
  /** The last key that is wanted. */
  #last: GroupKey | undefined;

  constructor(options: FirstGroupsOptions<Row, Sum>) {
    this.#options = options;
  }

  add(row: Row): void {
    const { keyOf, after } = this.#options;
    const key = keyOf(row);
    if ((after && compareKeys(key, after) <= 0) || (this.#last && compareKeys(key, this.#last) > 0)) return;
    const name = JSON.stringify(key);
    let group = this.#groups.get(name);
    if (!group) {
      group = { key, rows: 0, sum: this.#options.create() };
      this.#groups.set(name, group);
      this.#dropLast();
    }
    group.rows++;
    group.sum.add(row);
  }

  /** @returns in the order of keys; `hasMore`: there are groups after the last one */
  take(): { readonly groups: readonly Group<Sum>[]; readonly hasMore: boolean } {
    const sorted = this.#sorted().map(([, group]) => group);
    const { limit } = this.#options;
    return { groups: sorted.slice(0, limit), hasMore: sorted.length > limit };
  }

  /** One group more than wanted is kept, which tells whether there are more. */
  #dropLast(): void {
    const most = this.#options.limit + 1;
    if (this.#groups.size <= most * 2) return;
    const sorted = this.#sorted();
    this.#last = sorted[most - 1]?.[1].key;
    for (const [name] of sorted.slice(most)) this.#groups.delete(name);
  }

  #sorted() {
    return [...this.#groups].toSorted(([, one], [, other]) => compareKeys(one.key, other.key));
  }
}

/** By their first value, then by the next; values by their UTF-16 code units. */
function compareKeys(one: GroupKey, other: GroupKey): number {
  for (const [i, value] of one.entries()) {
    const against = other[i] ?? "";
    if (value !== against) return value < against ? -1 : 1;
  }
  return 0;
}
