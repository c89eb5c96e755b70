import { afterEach, expect, test, vi } from "vitest";
import { TimeSlices } from "./time-slices.ts";

afterEach(() => void vi.useRealTimers());

test("others of the process have their turn in the middle of long work", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  let turns = 0;
  const slices = new TimeSlices(10, 1);
  let heard = 0;
  // A step takes a millisecond.
  for (let steps = 0; steps < 60; steps++) {
    if (slices.isOver()) {
      setImmediate(() => turns++);
      await slices.next();
      heard++;
    }
    vi.advanceTimersByTime(1);
  }
  expect([heard, turns]).toEqual([5, 5]);
});

test("short work is one slice", () => {
  const slices = new TimeSlices(3_600_000);
  expect(Array.from({ length: 1_000 }, () => slices.isOver())).not.toContain(true);
});
