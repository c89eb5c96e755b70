import * as fc from "fast-check";
import { expect, test } from "vitest";
import { busyRetryDelayMs, retryDelayMs } from "./retry-delay.ts";

const random = fc.double({ min: 0, max: 1, noNaN: true });

test("an engine that fails again is left alone for longer, up to 8 s, and never for less than half of that", () => {
  expect([0, 1, 2, 3, 4, 9].map((tries) => retryDelayMs(tries, 1))).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 8_000,
  ]);
  expect(retryDelayMs(1, 0)).toBe(500);
});

test("a busy engine is never asked before it wants to be, nor after the policy's time", () => {
  const retryAfterMs = fc.option(fc.nat(100_000), { nil: undefined });
  fc.assert(
    fc.property(fc.nat(20), random, retryAfterMs, fc.nat(100_000), (tries, chance, wanted, leftMs) => {
      const waitMs = busyRetryDelayMs({ tries, random: chance, retryAfterMs: wanted, leftMs });
      if (waitMs === undefined) return (wanted ?? 0) + 8_000 >= leftMs;
      return waitMs >= (wanted ?? 250) && waitMs < leftMs;
    }),
  );
});
