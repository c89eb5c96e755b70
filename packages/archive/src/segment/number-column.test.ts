import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readColumn, writeColumn } from "./number-column.ts";

describe("a column of numbers", () => {
  test("comes back as it was, and tells how many bytes it took", () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeInteger()), fc.uint8Array(), (numbers, after) => {
        const written = writeColumn(Float64Array.from(numbers));
        const read = readColumn(Buffer.concat([written, after]), numbers.length);
        expect([...read.numbers]).toEqual(numbers);
        expect(read.bytes).toBe(written.length);
      }),
    );
  });

  test("takes one byte for zeros, and as many for each number as the largest needs with its sign", () => {
    expect(writeColumn(new Float64Array(9))).toEqual(Uint8Array.of(0));
    expect(writeColumn(Float64Array.of(1, -2, 127, -128))).toEqual(Uint8Array.of(1, 1, 254, 127, 128));
    expect(writeColumn(Float64Array.of(1, 300))).toEqual(Uint8Array.of(2, 0, 1, 1, 44));
  });

  test.each([[[]], [[9, 1, 1]], [[1]], [[2, 0, 0, 1]]])("is refused as corrupt if it is %j", (bytes) => {
    expect(() => readColumn(Uint8Array.from(bytes), 2)).toThrow(
      expect.objectContaining({ code: "archive_corrupt" }),
    );
  });
});
