import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leafHashOf } from "../segment/segment.ts";
import type { Segment } from "../segment/segment-header.ts";
import { createLog } from "../testing/events.ts";
import { sealLog } from "../testing/segments.ts";
import { compareSegments } from "./compare-segments.ts";
import { encodeSegmentFile } from "./encode-segment-file.ts";
import { mergeSegmentFiles } from "./merge-segment-files.ts";
import { readSegmentFile } from "./open-segment-file.ts";

const segments = Array.from({ length: 12 }, (_, i) => `gen_0_${i}`).flatMap((generation, seed) =>
  sealLog(createLog({ generation, events: 30, seed }), { generation, size: 5 }),
);

/** Each segment in one of several files, none of them empty. */
const anyFiles = fc
  .array(fc.nat(6), { minLength: segments.length, maxLength: segments.length })
  .map((places) =>
    Array.from(new Set(places), (place) =>
      segments.filter((_, i) => places[i] === place).toSorted(compareSegments),
    ),
  );

function leavesOf(of: readonly Segment[]): string[] {
  return of.map((segment) => Buffer.from(leafHashOf(segment)).toString("hex"));
}

describe("merged files", () => {
  test("hold every segment of the files before, once, with its leaf hash as it was, in a file's order", async () => {
    await fc.assert(
      fc.asyncProperty(anyFiles, fc.integer({ min: 1, max: 60_000 }), async (files, maxBytes) => {
        const merged = await mergeSegmentFiles(files.map(encodeSegmentFile), { maxBytes });
        const read: Segment[] = [];
        for (const { bytes, segments: said } of merged) {
          const part = await readSegmentFile(bytes);
          expect(leavesOf(part)).toEqual(leavesOf(said));
          read.push(...part);
        }
        expect(leavesOf(read)).toEqual(leavesOf(segments.toSorted(compareSegments)));
      }),
      { numRuns: 30 },
    );
  });

  test("are no larger than they may be, and no more than need be", async () => {
    const file = encodeSegmentFile(segments.toSorted(compareSegments));
    const [whole] = await mergeSegmentFiles([file], { maxBytes: 1_000_000 });
    expect(Buffer.compare(whole!.bytes, file)).toBe(0);
    const parts = await mergeSegmentFiles([file], { maxBytes: 16_384 });
    for (const { bytes } of parts) expect(bytes.length).toBeLessThan(16_384);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.length).toBeLessThan(8);
    expect(await mergeSegmentFiles([file], { maxBytes: 1 })).toHaveLength(segments.length);
  });

  test("are none for no files", async () => {
    expect(await mergeSegmentFiles([], { maxBytes: 1_000 })).toEqual([]);
  });
});
