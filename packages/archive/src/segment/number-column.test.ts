import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSeededRandom } from "@reprise/testkit";
import { BitReader } from "./bit-reader.ts";
import { BitWriter } from "./bit-writer.ts";
import { readDeltas, readNumbers, writeDeltas, writeNumbers } from "./number-column.ts";

const anyNumber = fc.oneof(
  fc.nat(),
  fc.nat(300),
  fc.maxSafeNat(),
  fc.constantFrom(0, 2 ** 30, 2 ** 31, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER),
);
const anyColumn = fc.oneof(
  fc.array(anyNumber, { maxLength: 300 }),
  fc.array(fc.nat(40), { minLength: 250, maxLength: 300 }),
  fc.tuple(anyNumber, fc.nat(300)).map(([value, count]) => Array.from({ length: count }, () => value)),
);

function numbersThrough(column: readonly number[]): number[] {
  const writer = new BitWriter();
  writeNumbers(writer, Float64Array.from(column));
  return [...readNumbers(new BitReader(writer.toBytes()), column.length)];
}

function deltasThrough(column: readonly number[], start: number): number[] {
  const writer = new BitWriter();
  writeDeltas(writer, Float64Array.from(column), start);
  return [...readDeltas(new BitReader(writer.toBytes()), column.length, start)];
}

/** Bytes that a column takes. */
function sizeOf(column: readonly number[]): number {
  const writer = new BitWriter();
  writeDeltas(writer, Float64Array.from(column), column[0] ?? 0);
  return writer.toBytes().length;
}

describe("a column of numbers", () => {
  test("comes back as it was, for any numbers", () => {
    fc.assert(
      fc.property(anyColumn, (column) => {
        expect(numbersThrough(column)).toEqual(column);
      }),
    );
  });

  test("comes back as it was from its differences, behind any number", () => {
    fc.assert(
      fc.property(anyColumn, anyNumber, (column, start) => {
        expect(deltasThrough(column, start)).toEqual(column);
      }),
    );
  });

  test("takes no bits for each number when all are as expected", () => {
    expect(sizeOf(Array.from({ length: 10_000 }, (_, i) => 5 + i * 1_000))).toBeLessThan(10);
  });

  test.each([4, 8, 12, 16, 20, 24])(
    "takes little more than %i bits a number where they jitter by so many",
    (bits) => {
      const random = createSeededRandom(bits);
      const jittered = Array.from({ length: 256 }, (_, i) => i * 2 ** 26 + random.integer(0, 2 ** bits - 1));
      expect(sizeOf(jittered)).toBeLessThan((256 * (bits + 2.5)) / 8 + 10);
    },
  );

  test("takes no more for its other numbers where one is far off", () => {
    const steady = Array.from({ length: 256 }, (_, i) => i * 20_000 + (i % 7));
    const withPause = steady.map((time, i) => (i < 100 ? time : time + 3_600_000_000));
    expect(sizeOf(withPause)).toBeLessThan(sizeOf(steady) + 12);
  });

  test("is refused as corrupt when it ends too early, and never gives numbers out of range", () => {
    const anyBytes = fc.uint8Array({ maxLength: 64 });
    fc.assert(
      fc.property(anyBytes, fc.integer({ min: 1, max: 1_000 }), (bytes, count) => {
        try {
          for (const number of readDeltas(new BitReader(bytes), count, 0))
            expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: "archive_corrupt" });
        }
      }),
    );
  });
});
