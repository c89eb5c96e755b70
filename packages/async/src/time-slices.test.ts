import { expect, test } from "vitest";
import { TimeSlices } from "./time-slices.ts";

test("others of the process have their turn in the middle of long work", async () => {
  let turns = 0;
  const others = setInterval(() => turns++, 0);
  const slices = new TimeSlices(1);
  const endMs = performance.now() + 60;
  let steps = 0;
  let heard = 0;
  while (performance.now() < endMs) {
    if (slices.isOver()) {
      await slices.next();
      heard++;
    }
    steps++;
  }
  clearInterval(others);
  expect([heard > 0, turns > 0, steps > heard]).toEqual([true, true, true]);
});

test("short work is one slice", () => {
  const slices = new TimeSlices(3_600_000);
  expect(Array.from({ length: 1_000 }, () => slices.isOver())).not.toContain(true);
});
