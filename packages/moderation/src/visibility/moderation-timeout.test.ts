import { asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { ModerationTimeout } from "./moderation-timeout.ts";

test("it is reported once it has lasted long enough, and for each place once", () => {
  const lateness = new ModerationTimeout(1_000);
  expect([0, 999, 1_000].map((now) => lateness.observe(now, asSeq(3), true))).toEqual([false, false, true]);
  lateness.reporting(1_000);
  lateness.reported(asSeq(3));
  expect(lateness.observe(60_000, asSeq(3), true)).toBe(false);
  expect([60_000, 60_999, 61_000].map((now) => lateness.observe(now, asSeq(4), true))).toEqual([
    false,
    false,
    true,
  ]);
});

test("what was judged in time, or is judged on, is not late", () => {
  const lateness = new ModerationTimeout(1_000);
  lateness.observe(0, asSeq(0), true);
  expect(lateness.observe(900, asSeq(1), true)).toBe(false);
  expect(lateness.observe(1_800, asSeq(1), true)).toBe(false);
  expect(lateness.observe(1_900, asSeq(1), false)).toBe(false);
  expect(lateness.observe(2_800, asSeq(1), true)).toBe(false);
});

test("what is not taken is reported again, later and later, and at once when judging stops again", () => {
  const lateness = new ModerationTimeout(100);
  const tries: number[] = [];
  lateness.observe(0, asSeq(0), true);
  for (let now = 100; now < 40_000; now += 100) {
    if (!lateness.observe(now, asSeq(0), true)) continue;
    tries.push(now);
    lateness.reporting(now);
  }
  expect(tries).toEqual([100, 600, 1_600, 3_600, 7_600, 15_600, 25_600, 35_600]);
  lateness.observe(36_000, asSeq(1), true);
  expect(lateness.observe(36_100, asSeq(1), true)).toBe(true);
});
