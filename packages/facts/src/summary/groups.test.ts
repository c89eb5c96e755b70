import fc from "fast-check";
import { expect, test } from "vitest";
import { FirstGroups } from "./first-groups.ts";
import { type GroupKey, Groups } from "./groups.ts";
import { KeyCounts } from "./key-counts.ts";

class Count {
  rows = 0;
  add(): void {
    this.rows++;
  }
  merge({ rows }: Count): void {
    this.rows += rows;
  }
}

const keyOf = (value: string): GroupKey => [value];
const create = () => new Count();
const summed = ({ groups }: { groups: readonly { key: GroupKey; sum: Count }[] }) =>
  groups.map(({ key, sum }) => [...key, sum.rows]);

/** Returns the largest groups in the way that questions do. */
function largest(rows: readonly string[], limit: number, options: { mostKept: number; mostNames?: number }) {
  const { mostKept, mostNames } = options;
  const groups = new Groups({ keyOf, create, mostKept, counts: new KeyCounts(mostNames) });
  for (const row of rows) groups.add(row);
  if (groups.hasLargest(limit)) return groups.take(limit);
  const again = new Groups({ keyOf, create, mostKept, only: groups.largest(mostKept) });
  for (const row of rows) again.add(row);
  return again.take(limit);
}

const small = Array.from({ length: 1_000 }, (_, i) => `small${i}`);

test("the largest group is found where a thousand others come first", () => {
  const rows = [...small, ...Array.from({ length: 9_000 }, () => "large")];
  const found = largest(rows, 3, { mostKept: 1_000 });
  expect(summed(found)).toEqual([["large", 9_000], ...["small0", "small1"].map((name) => [name, 1])]);
  expect(found.other).toMatchObject({ rows: 998, sum: { rows: 998 } });
});

test("the largest group is found where more names come than are counted apart, before, between and after its rows", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `n${i}`);
  const rows = names.flatMap((name, i) => (i % 100 === 99 ? [name, "large"] : [name]));
  const found = largest([...small, ...rows], 1, { mostKept: 10, mostNames: 200 });
  expect(summed(found)).toEqual([["large", 200]]);
  expect(found.other?.rows).toBe(21_000);
});

test("rows are read once where the largest groups came among the first", () => {
  const groups = new Groups({ keyOf, create, mostKept: 2 });
  for (const row of ["b", "b", "b", "c", "c", "d", "a"]) groups.add(row);
  expect([groups.hasLargest(1), groups.hasLargest(2)]).toEqual([true, true]);
  groups.add("a");
  expect(groups.hasLargest(2)).toBe(false);
  expect(groups.largest(2)).toEqual([["b"], ["a"]]);
});

test("whatever the order, the groups are those with the most rows, and those first by name of as many", () => {
  const rows = fc.array(fc.nat({ max: 40 }).map(String), { maxLength: 300 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 8, max: 12 }), (all, limit, kept) => {
      const counts = new Map<string, number>();
      for (const row of all) counts.set(row, (counts.get(row) ?? 0) + 1);
      const expected = [...counts].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, limit);
      expect(summed(largest(all, limit, { mostKept: kept }))).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

test("a count is too small by no more than it says, and that is a known share of all rows", () => {
  const rows = fc.array(fc.nat({ max: 60 }).map(String), { maxLength: 500 });
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 10 }), (all, mostNames) => {
      const counts = new KeyCounts(mostNames);
      for (const row of all) counts.add(row);
      const found = new Map(counts);
      expect(found.size).toBeLessThanOrEqual(mostNames * 2);
      expect(counts.error).toBeLessThanOrEqual(all.length / mostNames);
      for (const name of new Set(all)) {
        const exact = all.filter((row) => row === name).length;
        const counted = found.get(name) ?? 0;
        expect(counted).toBeLessThanOrEqual(exact);
        expect(counted + counts.error).toBeGreaterThanOrEqual(exact);
      }
    }),
    { numRuns: 300 },
  );
});

test("pages of groups in the order of keys are all groups, each with all its rows", () => {
  const row = fc.tuple(fc.constantFrom("a", "b", "", "ä"), fc.nat({ max: 12 }).map(String));
  fc.assert(
    fc.property(fc.array(row, { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (all, limit) => {
      const pages: (readonly [string, number])[] = [];
      for (let after: GroupKey | undefined; ;) {
        const groups = new FirstGroups({ keyOf: (key: GroupKey) => key, create, after, limit });
        for (const one of all) groups.add(one);
        const page = groups.take();
        for (const { key, rows, sum } of page.groups) {
          expect(sum.rows).toBe(rows);
          pages.push([JSON.stringify(key), rows]);
        }
        after = page.groups.at(-1)?.key;
        if (!page.hasMore) break;
      }
      const expected = new Map<string, number>();
      for (const key of all) {
        const name = JSON.stringify(key);
        expected.set(name, (expected.get(name) ?? 0) + 1);
      }
      expect(pages).toHaveLength(expected.size);
      expect(new Map(pages)).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});
