import fc from "fast-check";
import { expect, test } from "vitest";
import { planEviction } from "./memory-budget.ts";

const KIB = 1_024;

function candidate(key: string, bytes: number, readers: number, idleSince = 0) {
  return { key, cache: { bytes, trim: () => {} }, inUse: readers > 0, idleSince };
}

test("nothing goes while all caches fit into the budget", () => {
  expect(planEviction([candidate("a", 60 * KIB, 0), candidate("b", 40 * KIB, 1)], 100 * KIB)).toEqual([]);
});

test("caches without readers go first, the longest unused of them before the others, and no more than needed", () => {
  const tails = [
    candidate("young", 50 * KIB, 0, 20),
    candidate("read", 500 * KIB, 3),
    candidate("old", 50 * KIB, 0, 10),
  ];
  expect(planEviction(tails, 570 * KIB).map(({ key, keepBytes }) => [key, keepBytes])).toEqual([["old", 0]]);
});

test("of caches with readers the largest are trimmed, and keep what readers that keep up need", () => {
  const tails = [
    candidate("small", 100 * KIB, 1),
    candidate("large", 900 * KIB, 1),
    candidate("idle", 10 * KIB, 0),
  ];
  const trims = planEviction(tails, 200 * KIB).map(({ key, keepBytes }) => [key, keepBytes]);
  expect(trims).toEqual([
    ["idle", 0],
    ["large", 64 * KIB],
  ]);
});

test("any caches fit after the trims, or nothing is left to trim", () => {
  const anyTail = fc.record({ bytes: fc.nat(1_000 * KIB), readers: fc.nat(2), idleSince: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(anyTail, { maxLength: 30 }), fc.nat(10_000 * KIB), (shapes, maxBytes) => {
      const tails = shapes.map(({ bytes, readers, idleSince }, i) =>
        candidate(`${i}`, bytes, readers, idleSince),
      );
      const kept = new Map(planEviction(tails, maxBytes).map(({ key, keepBytes }) => [key, keepBytes]));
      const sizes = tails.map(({ key, cache }) => kept.get(key) ?? cache.bytes);
      const left = sizes.reduce((sum, bytes) => sum + bytes, 0);
      const least = tails.reduce(
        (sum, { cache, inUse }) => sum + (inUse ? Math.min(cache.bytes, 64 * KIB) : 0),
        0,
      );
      expect(left).toBeLessThanOrEqual(Math.max(maxBytes, least));
      expect(tails.filter(({ key, inUse }) => inUse && kept.get(key) === 0)).toEqual([]);
    }),
  );
});
