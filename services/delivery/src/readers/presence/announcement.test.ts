import { asSeq } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isAnnouncementDue, type AnnouncementState } from "./announcement.ts";

const LEASE_MS = 6_000;
const NOW_MS = 100_000;
const announced = (readers: number, agoMs: number, seq = 0) => ({
  readers,
  seq: asSeq(seq),
  atMs: NOW_MS - agoMs,
});
const due = (given: Partial<AnnouncementState>) =>
  isAnnouncementDue(
    {
      stored: undefined,
      sentAtMs: given.stored?.atMs ?? -Infinity,
      readers: 0,
      visited: false,
      progress: undefined,
      ...given,
    },
    { nowMs: NOW_MS, leaseMs: LEASE_MS },
  );

test("announces the first reader that comes and the last that leaves at once", () => {
  expect(due({ readers: 1 })).toBe(true);
  expect(due({ readers: 1, stored: announced(0, 100) })).toBe(true);
  expect(due({ readers: 0, stored: announced(3, 100) })).toBe(true);
});

test("does not announce another count of readers, but repeats the announcement three times a lease", () => {
  expect(due({ readers: 2, stored: announced(5, 1_999) })).toBe(false);
  expect(due({ readers: 2, stored: announced(2, 2_000) })).toBe(true);
  expect(due({ readers: 0, stored: announced(0, 60_000) })).toBe(false);
});

test("announces a reader that has come and gone between two announcements", () => {
  expect(due({ visited: true, stored: announced(0, 100) })).toBe(true);
});

test("announces the furthest position only where that is asked for", () => {
  expect(due({ readers: 1, stored: announced(1, 100, 5), progress: { seq: asSeq(6) } })).toBe(true);
  expect(due({ readers: 1, stored: announced(1, 100, 5), progress: { seq: asSeq(5) } })).toBe(false);
  expect(due({ readers: 1, stored: announced(1, 100, 5) })).toBe(false);
});

test("announces what readers may not be shown yet when it changes", () => {
  const held = { fromSeq: asSeq(6), toSeq: asSeq(9) };
  expect(due({ readers: 1, stored: announced(1, 100, 5), progress: { seq: asSeq(5), held } })).toBe(true);
  const told = { ...announced(1, 100, 5), held };
  expect(due({ readers: 1, stored: told, progress: { seq: asSeq(5), held: { ...held } } })).toBe(false);
  expect(due({ readers: 1, stored: told, progress: { seq: asSeq(5) } })).toBe(true);
});

test("repeats an announcement that may not have arrived", () => {
  expect(due({ readers: 0, sentAtMs: NOW_MS - 100 })).toBe(true);
});

test("announcements are never less than 100 ms apart", () => {
  const anyState = fc.record({
    stored: fc.option(fc.record({ readers: fc.nat(2), seq: fc.nat(9).map(asSeq), atMs: fc.nat(NOW_MS) }), {
      nil: undefined,
    }),
    readers: fc.nat(2),
    visited: fc.boolean(),
    progress: fc.option(fc.record({ seq: fc.nat(9).map(asSeq) }), { nil: undefined }),
    sentAtMs: fc.integer({ min: NOW_MS - 99, max: NOW_MS }),
  });
  fc.assert(
    fc.property(anyState, (given) => {
      expect(due(given)).toBe(false);
    }),
  );
});
