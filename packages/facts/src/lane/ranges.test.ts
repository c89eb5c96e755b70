import { asStreamSeq, plus, type StreamSeq } from "@reprise/protocol";
import type { StreamRange } from "@reprise/archive";
import fc from "fast-check";
import { expect, test } from "vitest";
import { countSeqs, mergeRanges, toRanges, subtractRanges } from "./ranges.ts";

const places = fc.uniqueArray(fc.nat(60).map(asStreamSeq));

function spread(ranges: readonly StreamRange[]): StreamSeq[] {
  return ranges.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, i) => plus(first, i)),
  );
}

test("ranges hold the same places, in order, and no two ranges touch", () => {
  fc.assert(
    fc.property(places, (given) => {
      const ranges = toRanges(given);
      const sorted = given.toSorted((a, b) => a - b);
      const apart = ranges.every(([first], i) => i === 0 || first > ranges[i - 1]![1] + 1);
      expect([spread(ranges), countSeqs(ranges), apart]).toEqual([sorted, given.length, true]);
    }),
  );
});

test("ranges that overlap are joined", () => {
  expect(
    mergeRanges([
      [asStreamSeq(5), asStreamSeq(9)],
      [asStreamSeq(1), asStreamSeq(2)],
      [asStreamSeq(7), asStreamSeq(8)],
      [asStreamSeq(3), asStreamSeq(3)],
    ]),
  ).toEqual([
    [1, 3],
    [5, 9],
  ]);
});

test("what is taken out of ranges is what is in both, and nothing else", () => {
  fc.assert(
    fc.property(places, places, (given, taken) => {
      const left = subtractRanges(toRanges(given), toRanges(taken));
      const expected = given.filter((place) => !taken.includes(place)).toSorted((a, b) => a - b);
      expect(spread(left)).toEqual(expected);
    }),
  );
});
