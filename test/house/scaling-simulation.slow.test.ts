import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareFleets, createPlanner, WORKER } from "../bench/scaling/compare-fleets.ts";
import { formatScalingPlot } from "../bench/scaling/format-scaling-plot.ts";
import { formatScalingTables } from "../bench/scaling/format-scaling-table.ts";
import { type FleetOptions, type Scaler, simulateFleet } from "../bench/scaling/simulate-fleet.ts";

const SEED = 1;
const HOUR_MS = 3_600_000;

const anyArrivals = fc
  .array(fc.record({ afterMs: fc.nat(20_000), inputTokens: fc.nat(8_000), outputTokens: fc.nat(1_000) }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((gaps) => {
    let atMs = 0;
    return gaps.map(({ afterMs, ...tokens }) => ({ ...tokens, atMs: (atMs += afterMs) }));
  });

/** Says anything, from one worker up. */
const anyScaler = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }).map((sizes): Scaler => {
  let asked = 0;
  return { everyMs: 5_000, wanted: () => sizes[asked++ % sizes.length]! };
});

const busyMs = ({ arrivals }: Pick<FleetOptions, "arrivals">) =>
  arrivals.reduce(
    (sum, { inputTokens, outputTokens }) =>
      sum + (inputTokens / WORKER.prefillTokensPerSecond + outputTokens / WORKER.decodeTokensPerSecond) * 1e3,
    0,
  );

describe("the simulation of a fleet", () => {
  test("runs each job once, never before it has come, and in no more slots than are paid for, whatever the scaler says", () => {
    fc.assert(
      fc.property(anyArrivals, anyScaler, fc.integer({ min: 1, max: 5 }), (arrivals, scaler, workers) => {
        const run = simulateFleet({ arrivals, worker: WORKER, workers, scaler, seed: SEED });
        expect([run.jobs, run.waitMs.length, run.firstTokenMs.length]).toEqual(
          Array(3).fill(arrivals.length),
        );
        expect(Math.min(...run.waitMs)).toBeGreaterThanOrEqual(0);
        expect(run.busySlotHours * HOUR_MS).toBeCloseTo(busyMs({ arrivals }), 3);
        expect(run.busySlotHours).toBeLessThanOrEqual(run.workerHours * WORKER.slots + 1e-9);
      }),
    );
  });

  test("makes a job wait where all slots are busy, and no other", () => {
    const job = { atMs: 0, inputTokens: 0, outputTokens: 30 };
    const arrivals = Array.from({ length: WORKER.slots + 1 }, () => job);
    const { waitMs, workerHours } = simulateFleet({ arrivals, worker: WORKER, workers: 1, seed: SEED });
    expect(waitMs).toEqual([...Array<number>(WORKER.slots).fill(0), 1_000]);
    expect(workerHours * HOUR_MS).toBeCloseTo(2_000, 6);
  });

  test("gives a worker that starts no job before its cold start is over", () => {
    const job = { atMs: 0, inputTokens: 0, outputTokens: 3_000 };
    const arrivals = Array.from({ length: 2 * WORKER.slots }, () => job);
    const scaler: Scaler = { everyMs: 1_000, wanted: () => 2 };
    const { waitMs } = simulateFleet({ arrivals, worker: WORKER, workers: 1, scaler, seed: SEED });
    const [least, most] = WORKER.coldStartMs;
    expect(waitMs.at(-1)).toBeGreaterThanOrEqual(least);
    expect(waitMs.at(-1)).toBeLessThanOrEqual(most);
  });

  test("is the same for the same seed, and differs for another one in its cold starts", () => {
    const arrivals = Array.from({ length: 400 }, (_, i) => ({
      atMs: i * 100,
      inputTokens: 0,
      outputTokens: 300,
    }));
    const runOf = (seed: number) =>
      simulateFleet({ arrivals, worker: WORKER, workers: 1, scaler: createPlanner(), seed });
    expect(runOf(SEED)).toEqual(runOf(SEED));
    expect(runOf(SEED).waitMs).not.toEqual(runOf(SEED + 1).waitMs);
  });
});

test("docs/scaling.md and its plot show what the simulation says now", async () => {
  const read = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), "utf8");
  const comparisons = await compareFleets(SEED);
  expect(read("scaling.svg")).toBe(formatScalingPlot(comparisons));
  expect(read("scaling.md")).toContain(formatScalingTables(comparisons));
});
