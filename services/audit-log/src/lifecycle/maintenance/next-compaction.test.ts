import { toUnixMs } from "@reprise/protocol";
import type { ArchiveFile } from "@reprise/archive";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextCompaction, TARGET_BYTES } from "./next-compaction.ts";

const NOW = toUnixMs("2026-11-21T12:00:00Z");
const KIB = 1_024;

let count = 0;

function file(day: string, bytes: number, at = `${day}T06:00:00Z`, stream = "GENERATIONS_0"): ArchiveFile {
  const n = count++;
  const key = `data/tenant=acme/dt=${day}/${stream}-${n}-${n}-0123456789ab.parquet`;
  const us = Date.parse(at) * 1_000;
  return { key, sha256: "", bytes, segments: 1, events: 1, first_at: us, last_at: us, generations: "" };
}

function files(howMany: number, day: string, bytes: number): ArchiveFile[] {
  return Array.from({ length: howMany }, () => file(day, bytes));
}

describe("of a day that is over", () => {
  test("two small files become one", () => {
    const small = files(2, "2026-11-20", KIB);
    expect(nextCompaction(small, NOW)?.files).toEqual(small);
  });

  test("one file, and large ones, stay as they are", () => {
    const day = "2026-11-20";
    expect(nextCompaction([file(day, KIB), file(day, TARGET_BYTES / 2)], NOW)).toBeUndefined();
  });

  test("files of different streams and days never meet", () => {
    const [a, b] = ["2026-11-19", "2026-11-20"];
    const apart = [file(a, KIB), file(b, KIB), file(a, KIB, undefined, "OPS")];
    expect(nextCompaction(apart, NOW)).toBeUndefined();
  });

  test("no more is read at once than two large files", () => {
    const bytes = TARGET_BYTES / 4;
    expect(nextCompaction(files(20, "2026-11-20", bytes), NOW)?.files).toHaveLength(8);
  });

  test("merging comes to an end, with nearly as few files as there can be", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: TARGET_BYTES / 2 }), { minLength: 1 }), (sizes) => {
        let kept = sizes.map((bytes) => file("2026-11-20", bytes));
        const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
        let rounds = 0;
        for (let next = nextCompaction(kept, NOW); next; next = nextCompaction(kept, NOW)) {
          const { files: merged } = next;
          let bytes = merged.reduce((sum, one) => sum + one.bytes, 0);
          kept = kept.filter((one) => !merged.includes(one));
          for (; bytes > 0; bytes -= TARGET_BYTES)
            kept.push(file("2026-11-20", Math.min(bytes, TARGET_BYTES)));
          expect(++rounds).toBeLessThanOrEqual(sizes.length);
        }
        expect(kept.length).toBeLessThanOrEqual(1 + (2 * total) / TARGET_BYTES);
      }),
    );
  });
});

describe("of today", () => {
  const today = "2026-11-21";

  test("files of one size are merged once there are 32", () => {
    expect(nextCompaction(files(31, today, KIB), NOW)).toBeUndefined();
    expect(nextCompaction(files(32, today, KIB), NOW)?.files).toHaveLength(32);
  });

  test("what was merged waits until there are 32 of its size", () => {
    const merged = files(31, today, 900 * KIB);
    expect(nextCompaction([...merged, ...files(31, today, KIB)], NOW)).toBeUndefined();
  });

  test("files of the last ten minutes are left alone", () => {
    const young = Array.from({ length: 40 }, () => file(today, KIB, "2026-11-21T11:51:00Z"));
    expect(nextCompaction(young, NOW)).toBeUndefined();
  });
});

test("what was never named by the archive is not touched", () => {
  const strange = files(40, "2026-11-20", KIB).map((one) => ({ ...one, key: `elsewhere/${one.key}` }));
  expect(nextCompaction(strange, NOW)).toBeUndefined();
});
