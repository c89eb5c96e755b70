import { asUnixMs } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { abandonedSince } from "./abandoned-since.ts";

const LEASE_MS = 1_000;
const CREATED_MS = asUnixMs(5_000);
const at = fc.integer({ min: CREATED_MS, max: CREATED_MS + 20_000 });
const record = fc.record({ readers: fc.integer({ min: 0, max: 3 }), atMs: at });
const records = fc.array(record, { maxLength: 5 });
const judge = (given: readonly { readers: number; atMs: number }[], nowMs: number) =>
  abandonedSince(
    given.map(({ readers, atMs }) => ({ readers, atMs: asUnixMs(atMs) })),
    { createdAtMs: CREATED_MS, nowMs: asUnixMs(nowMs), leaseMs: LEASE_MS },
  );

test("a generation without any reader is abandoned since it was created", () => {
  expect(judge([], 9_000)).toBe(CREATED_MS);
});

test("a generation is not abandoned while a node announces readers", () => {
  const reading = { readers: 1, atMs: 8_000 };
  expect([judge([reading], 8_999), judge([reading], 9_000)]).toEqual([undefined, 9_000]);
  expect(judge([reading, { readers: 0, atMs: 8_500 }], 8_900)).toBeUndefined();
});

test("the last reader that leaves counts, on any node", () => {
  const left = [
    { readers: 0, atMs: 8_000 },
    { readers: 0, atMs: 12_000 },
    { readers: 2, atMs: 10_500 },
  ];
  expect(judge(left, 30_000)).toBe(12_000);
  expect(judge([...left, { readers: 1, atMs: 11_500 }], 30_000)).toBe(12_500);
});

test("a generation has readers exactly while some node's presence record is not older than a lease", () => {
  fc.assert(
    fc.property(records, at, (given, nowMs) => {
      const reads = given.some(({ readers, atMs }) => readers > 0 && nowMs - atMs < LEASE_MS);
      expect(judge(given, nowMs) === undefined).toBe(reads);
    }),
  );
});

test("once it is abandoned the answer stays, however late the question, in any order of the records", () => {
  fc.assert(
    fc.property(records, at, fc.nat(100_000), (given, nowMs, laterMs) => {
      const since = judge(given, nowMs);
      fc.pre(since !== undefined);
      expect(since).toBeGreaterThanOrEqual(CREATED_MS);
      expect(judge(given.toReversed(), nowMs + laterMs)).toBe(since);
    }),
  );
});

test("a further presence record never makes the absence longer", () => {
  fc.assert(
    fc.property(records, record, at, (given, further, nowMs) => {
      const before = judge(given, nowMs);
      const after = judge([...given, further], nowMs);
      fc.pre(before !== undefined && after !== undefined);
      expect(after).toBeGreaterThanOrEqual(before);
    }),
  );
});
