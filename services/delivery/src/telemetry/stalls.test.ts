import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Stalls } from "./stalls.ts";

test("a request that is read just after a stall has arrived when that began", async () => {
  using stalls = new Stalls(1_000);
  stalls.look(1_250);
  expect(stalls.arrivalAt(1_900)).toBe(1_900);
  expect(stalls.arrivalAt(6_900)).toBe(1_900);
  await setImmediate();
  expect(stalls.arrivalAt(6_901)).toBe(1_900);
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  expect(stalls.arrivalAt(6_902)).toBe(6_902);
});

test("the part of a span in which the process stood still is known", () => {
  using stalls = new Stalls(1_000);
  expect(stalls.within(500, 2_000)).toBe(0);
  stalls.look(6_000);
  expect(stalls.within(0, 9_000)).toBe(5_000);
  expect(stalls.within(2_000, 5_500)).toBe(3_500);
  expect(stalls.within(6_000, 9_000)).toBe(0);
});
