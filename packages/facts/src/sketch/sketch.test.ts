import { DDSketch } from "@datadog/sketches-js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BUCKETS, bucketOf, MAX_VALUE, RELATIVE_ERROR, valueOf } from "./bucket.ts";
import { decodeSketch, encodeSketch } from "./sketch-codec.ts";
import { Sketch } from "./sketch.ts";

/** Durations in microseconds, of all sizes. */
const value = fc.oneof(
  fc.nat({ max: 200 }),
  fc.nat({ max: 10_000_000 }),
  fc.integer({ min: 0, max: MAX_VALUE }),
  fc.integer({ min: 0, max: 37 }).map((bits) => Math.min(2 ** bits, MAX_VALUE)),
);
const values = fc.array(value, { maxLength: 300 });
const share = fc.double({ min: 0, max: 1, noNaN: true });

function sketchOf(list: readonly number[]): Sketch {
  const sketch = new Sketch();
  for (const each of list) sketch.add(each);
  return sketch;
}

const bytesOf = (sketch: Sketch) => Buffer.from(encodeSketch(sketch)).toString("hex");

test("the middle of a bucket is within the stated error of every value in it, and in it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: MAX_VALUE }), (each) => {
      const bucket = bucketOf(each);
      expect(bucket).toBeGreaterThanOrEqual(0);
      expect(bucket).toBeLessThan(BUCKETS);
      expect(Math.abs(valueOf(bucket) - each)).toBeLessThanOrEqual(each * RELATIVE_ERROR);
    }),
    { numRuns: 5_000 },
  );
});

test("buckets ascend with their values", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: MAX_VALUE - 1 }), (each) => {
      expect(bucketOf(each + 1) - bucketOf(each)).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 5_000 },
  );
});

test("a quantile is within the stated error of what a sorted list has there; count, sum, least and greatest are exact", () => {
  fc.assert(
    fc.property(values, share, (list, q) => {
      const sketch = sketchOf(list);
      const sorted = list.toSorted((a, b) => a - b);
      const exact = sorted[Math.floor(q * (sorted.length - 1))];
      const found = sketch.quantile(q);
      if (exact === undefined) {
        expect(found).toBeUndefined();
        return;
      }
      expect(Math.abs((found ?? Number.NaN) - exact)).toBeLessThanOrEqual(exact * RELATIVE_ERROR);
      expect(sketch.summary).toEqual({
        count: list.length,
        zeros: list.filter((each) => each === 0).length,
        sum: list.reduce((sum, each) => sum + each, 0),
        min: sorted[0],
        max: sorted.at(-1),
      });
    }),
  );
});

test("merged in any grouping, sketches are bit for bit the sketch of all values", () => {
  fc.assert(
    fc.property(fc.array(values, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 6 }), (lists, picks) => {
      const whole = bytesOf(sketchOf(lists.flat()));
      const parts = lists.map(sketchOf);
      for (const pick of picks) {
        if (parts.length < 2) break;
        const [taken] = parts.splice(pick % parts.length, 1);
        if (taken) parts[pick % parts.length]?.merge(taken);
      }
      const merged = new Sketch();
      for (const part of parts.toReversed()) merged.merge(part);
      expect(bytesOf(merged)).toBe(whole);
    }),
  );
});

test("a sketch survives its encoding", () => {
  fc.assert(
    fc.property(values, (list) => {
      const bytes = encodeSketch(sketchOf(list));
      expect(bytesOf(decodeSketch(bytes))).toBe(Buffer.from(bytes).toString("hex"));
    }),
  );
});

test("bytes that encode no sketch are refused, and never lead to more than one sketch's memory", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        expect(bytesOf(decodeSketch(bytes)).length).toBeLessThanOrEqual(100);
      } catch (error) {
        expect(error).toMatchObject({ code: "protocol_violation" });
      }
    }),
    { numRuns: 2_000 },
  );
});

describe("one changed byte", () => {
  test("is refused, or is the encoding of another sketch", () => {
    fc.assert(
      fc.property(values, fc.nat(), fc.integer({ min: 1, max: 255 }), (list, at, change) => {
        const bytes = encodeSketch(sketchOf(list));
        const changed = Uint8Array.from(bytes);
        const i = at % bytes.length;
        changed[i] = (bytes[i] ?? 0) ^ change;
        try {
          const { count, zeros } = decodeSketch(changed).summary;
          expect(zeros).toBeLessThanOrEqual(count);
        } catch (error) {
          expect(error).toMatchObject({ code: "protocol_violation" });
        }
      }),
    );
  });
});

test("quantiles agree with Datadog's DDSketch within both errors", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 10_000_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0, 0.5, 0.9, 0.99, 1),
      (list, q) => {
        const theirs = new DDSketch({ relativeAccuracy: 0.01 });
        for (const each of list) theirs.accept(each);
        const ours = sketchOf(list).quantile(q) ?? Number.NaN;
        const other = theirs.getValueAtQuantile(q);
        expect(Math.abs(ours - other)).toBeLessThanOrEqual(other * (0.01 + RELATIVE_ERROR + 0.001));
      },
    ),
  );
});
