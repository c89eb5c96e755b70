import { setImmediate as nextLoop } from "node:timers/promises";
import { expect, test } from "vitest";
import { WorkShares } from "./work-shares.ts";

/** A clock that advances only while a test waits for it. */
function shares() {
  let nowMs = 0;
  const waited: number[] = [];
  const made = new WorkShares({
    stepsPerSecond: 1_000,
    burst: 100,
    slice: 50,
    now: () => nowMs,
    async wait(ms) {
      waited.push(ms);
      nowMs += ms;
    },
  });
  return { made, waited, pass: (ms: number) => (nowMs += ms) };
}

function* steps(...each: number[]): Generator<number, string> {
  for (const one of each) yield one;
  return "done";
}

test("work within its owner's share does not wait", async () => {
  const { made, waited } = shares();
  expect(await made.run("a", steps(10, 20, 60))).toBe("done");
  expect([waited, made.isSpent("a")]).toEqual([[], false]);
});

test("an owner that has used up its share waits until it has some of it again, and no other does", async () => {
  const { made, waited, pass } = shares();
  made.spend("a", 600);
  expect([made.isSpent("a"), made.isSpent("b")]).toEqual([true, false]);
  await made.turn("b");
  expect(waited).toEqual([]);
  await made.turn("a");
  expect(waited).toEqual([501]);
  pass(1_000);
  expect(made.isSpent("a")).toBe(false);
});

test("what an owner saves is no more than a burst", () => {
  const { made, pass } = shares();
  made.spend("a", 1);
  pass(60_000);
  made.spend("a", 100);
  expect(made.isSpent("a")).toBe(true);
});

test("work of one owner gets its turns in order, each within the share", async () => {
  const { made, waited } = shares();
  const order: string[] = [];
  function* named(name: string): Generator<number, void> {
    for (let left = 3; left > 0; left--) {
      order.push(name);
      yield 200;
    }
  }
  await Promise.all([made.run("a", named("first")), made.run("a", named("second"))]);
  expect(order).toEqual(["first", "first", "second", "first", "second", "second"]);
  // 1,200 steps at 1,000 a second, of which a burst of 100 was there.
  expect(waited.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(1_100);
});

test("works that wait share the event loop's turns by slices, however many they are", async () => {
  const made = new WorkShares({ stepsPerSecond: 1e9, burst: 1e9, slice: 1_000 });
  made.spend("a", 1_000);
  const works = Array.from({ length: 200 }, () => made.run("a", steps(10, 10, 10)));
  let isOver = false;
  const all = Promise.all(works).then(() => (isOver = true));
  let loops = 0;
  for (; !isOver; loops++) await nextLoop();
  await all;
  // 6,000 steps in slices of 1,000, and the slice that was spent before.
  expect(loops).toBeGreaterThanOrEqual(6);
  expect(loops).toBeLessThanOrEqual(9);
});

test("an owner whose work waits is spent, so that nothing of it goes before that", async () => {
  const { made } = shares();
  const turn = made.turn("a");
  expect(made.isSpent("a")).toBe(true);
  await turn;
  expect(made.isSpent("a")).toBe(false);
});

test("accounts that are full again are forgotten", () => {
  const { made, pass } = shares();
  for (let i = 0; i < 5_000; i++) {
    made.spend(`tenant ${i}`, 1);
    pass(1);
  }
  expect(made.isSpent("tenant 0")).toBe(false);
});
