import { expect, test } from "vitest";
import { unsettled } from "./unsettled.ts";

test.each([
  ["gives back what was not used of a generation that has ended at once", 100, 30, 0, -70],
  ["gives back less the longer it ran, for the reservation comes back by itself", 100, 30, 30_000, -35],
  ["gives nothing back when the window is over", 100, 30, 90_000, 0],
  ["takes what was used beyond the reservation, whenever it has ended", 100, 130, 90_000, 30],
])("%s", (_, units, used, elapsedMs, expected) => {
  expect(unsettled({ units, used, elapsedMs, windowMs: 60_000 })).toBeCloseTo(expected);
});
