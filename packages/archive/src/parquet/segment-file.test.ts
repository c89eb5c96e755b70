import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leafHashOf } from "../segment/segment.ts";
import type { Segment } from "../segment/segment-header.ts";
import type { ByteRange } from "../store/blob-store.ts";
import { createLog } from "../testing/events.ts";
import { sealLog } from "../testing/segments.ts";
import { compareSegments } from "./compare-segments.ts";
import { encodeSegmentFile } from "./encode-segment-file.ts";
import { openSegmentFile, readSegmentFile } from "./open-segment-file.ts";

const corrupt = expect.objectContaining({ code: "archive_corrupt" });

/** Segments of generations `gen_0_000`, `gen_0_001` …, in a file's order. */
function segmentsOf(generations: number, { events = 40, size = 10 } = {}): Segment[] {
  return Array.from({ length: generations }, (_, i) => `gen_0_${String(i).padStart(3, "0")}`)
    .flatMap((generation, seed) => sealLog(createLog({ generation, events, seed }), { generation, size }))
    .toSorted(compareSegments);
}

function leavesOf(segments: readonly Segment[]): string[] {
  return segments.map((segment) => Buffer.from(leafHashOf(segment)).toString("hex"));
}

/** A file that counts what is read of it. */
function counted(bytes: Uint8Array) {
  const seen = { bytes: 0 };
  const read = async ({ offset, length }: ByteRange): Promise<Uint8Array> => {
    seen.bytes += length;
    return bytes.subarray(offset, offset + length);
  };
  return { seen, open: () => openSegmentFile(read, bytes.length) };
}

describe("a file of segments", () => {
  test("gives back headers and sealed parts byte by byte", async () => {
    const segments = segmentsOf(30);
    const read = await readSegmentFile(encodeSegmentFile(segments));
    expect(read.map(({ header }) => header)).toEqual(segments.map(({ header }) => header));
    expect(leavesOf(read)).toEqual(leavesOf(segments));
  });

  test("is the same for the same segments", () => {
    expect(encodeSegmentFile(segmentsOf(5))).toEqual(encodeSegmentFile(segmentsOf(5)));
  });

  test("is refused for no segments, and for segments that are not in its order", () => {
    const [first, ...others] = segmentsOf(3);
    expect(() => encodeSegmentFile([])).toThrow(RangeError);
    expect(() => encodeSegmentFile([...others, first!])).toThrow(RangeError);
  });

  test("keeps a sealed part of any bytes and any length", async () => {
    const [{ header }] = segmentsOf(1) as [Segment];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 50_000, size: "max" }), { minLength: 1 }),
        async (parts) => {
          const segments = parts.map((sealed, i) => ({ header: { ...header, epoch: i }, sealed }));
          const read = await readSegmentFile(encodeSegmentFile(segments));
          expect(read.map(({ sealed }) => Buffer.from(sealed))).toEqual(
            parts.map((part) => Buffer.from(part)),
          );
        },
      ),
      { numRuns: 20 },
    );
  });

  test("is refused as corrupt cut short or with bytes changed, or read as what it seems to be; it never breaks in another way", async () => {
    const bytes = encodeSegmentFile(segmentsOf(3));
    // Most of them where the file says of itself what it holds: it is believed in nothing.
    const at = fc.oneof(
      fc.nat(bytes.length - 1),
      fc.integer({ min: bytes.length - 1_400, max: bytes.length - 1 }),
    );
    const change = fc.tuple(at, fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const changed = Uint8Array.from(bytes);
        for (const [offset, by] of changes) changed[offset]! ^= by;
        await expect(readSegmentFile(bytes.subarray(0, changes[0]![0]))).rejects.toEqual(corrupt);
        const read = await readSegmentFile(changed).catch((error: unknown) => error);
        expect(Array.isArray(read) || (read as { code?: string }).code === "archive_corrupt").toBe(true);
        // An unhandled rejection fails the run.
        await setImmediate();
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("a file of segments that is read piece by piece", () => {
  test("gives all rows of each generation, and their segments, and none for others", async () => {
    const segments = segmentsOf(100);
    const { open } = counted(encodeSegmentFile(segments));
    const file = await open();
    expect([file.rows, await file.headers()]).toEqual([400, segments.map(({ header }) => header)]);
    for (const generation of ["gen_0_000", "gen_0_057", "gen_0_099"]) {
      const its = segments.filter(({ header }) => header.generation === generation);
      const rows = await file.rowsOf(generation);
      expect(rows.map(({ header }) => header)).toEqual(its.map(({ header }) => header));
      expect(rows.map(({ row }) => segments[row])).toEqual(its);
      expect(leavesOf(await file.segmentsOf(generation))).toEqual(leavesOf(its));
      expect(leavesOf([await file.segment(rows[2]!.row)])).toEqual(leavesOf([its[2]!]));
    }
    for (const generation of ["", "gen_0_05", "gen_0_100", "gen_1_000"])
      expect(await file.segmentsOf(generation)).toEqual([]);
    await expect(file.segment(400)).rejects.toThrow(RangeError);
  });

  test("finds a generation's rows where the file has many row groups", async () => {
    const [template] = segmentsOf(1) as [Segment];
    const sealed = new Uint8Array(3_000_000).fill(7);
    const segments = Array.from({ length: 9 }, (_, i) => ({
      header: { ...template.header, generation: `gen_0_${i >> 1}`, epoch: i },
      sealed,
    }));
    const file = await counted(encodeSegmentFile(segments)).open();
    for (const [i, { header }] of segments.entries()) {
      const rows = await file.rowsOf(header.generation);
      expect(rows.find(({ row }) => row === i)?.header).toEqual(header);
      expect((await file.segment(i)).header).toEqual(header);
    }
  });

  test("takes a small part of the file for one generation", async () => {
    const bytes = encodeSegmentFile(segmentsOf(300, { events: 400, size: 40 }));
    const { seen, open } = counted(bytes);
    const file = await open();
    const before = seen.bytes;
    expect(await file.segmentsOf("gen_0_150")).toHaveLength(10);
    expect(seen.bytes - before).toBeLessThan(bytes.length / 15);
  });

  test("fails as its storage fails, and is corrupt where the storage gives less than it was asked for", async () => {
    const bytes = encodeSegmentFile(segmentsOf(3));
    const broken = async (): Promise<never> => Promise.reject(new Error("away"));
    await expect(openSegmentFile(broken, bytes.length)).rejects.toThrow("away");
    await expect(openSegmentFile(async () => bytes.subarray(1), bytes.length)).rejects.toEqual(corrupt);
    await expect(openSegmentFile(async () => bytes, bytes.length + 1)).rejects.toEqual(corrupt);
  });
});
