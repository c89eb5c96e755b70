import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FIRST_SETUP, findBreakingPoints } from "../bench/capacity/breaking-points.ts";
import { compareHeldOut } from "../bench/capacity/compare-held-out.ts";
import { studyPath } from "../bench/capacity/compare-paths.ts";
import { EXAMPLE, fillPage, formatPage } from "../bench/capacity/format-page.ts";
import { formatPathPlot } from "../bench/capacity/format-path-plot.ts";
import { checkpointsOf, toLoad } from "../bench/capacity/load.ts";
import { parseCapacityOptions } from "../bench/capacity/options.ts";
import { DEPLOYMENT, leftOnDisk, planCapacity } from "../bench/capacity/plan-capacity.ts";
import { simulatePath } from "../bench/capacity/simulate-path.ts";
import { readUnitCosts } from "../bench/capacity/unit-costs.ts";
import {
  type Costs,
  type Driver,
  DRIVERS,
  type Drivers,
  fitCosts,
  type Phase,
  predict,
} from "../bench/scenarios/capacity/fit-costs.ts";
import type { HeldOut } from "../bench/scenarios/capacity/held-out.ts";

const COSTS = readUnitCosts();
const read = (path: string) => readFileSync(new URL(`../../docs/${path}`, import.meta.url), "utf8");

const recordOf = (values: readonly number[]) =>
  Object.fromEntries(DRIVERS.map((driver, at) => [driver, values[at]!])) as Record<Driver, number>;

describe("costs that are fitted to phases", () => {
  const NOTHING: Drivers = recordOf([0, 0, 0, 0, 0]);
  const LOADS: readonly Drivers[] = [
    { ...NOTHING, seconds: 5 },
    { seconds: 5, events: 10_000, deliveries: 10_000, generations: 0, openSeconds: 500 },
    { seconds: 5, events: 10_000, deliveries: 40_000, generations: 0, openSeconds: 500 },
    { seconds: 5, events: 10_000, deliveries: 10_000, generations: 0, openSeconds: 2_500 },
    { seconds: 3, events: 8_000, deliveries: 8_000, generations: 1_000, openSeconds: 200 },
  ];
  const phasesOf = (costs: Costs): Phase[] =>
    LOADS.map((drivers, i) => ({
      name: `${i}`,
      drivers,
      usage: { one: { cpuMicros: predict(costs, drivers), readBytes: 0, writtenBytes: 0 } },
    }));
  const cpuOf = ({ usage }: Phase) => usage["one"]!.cpuMicros;

  test("are those that made them, whatever they were", () => {
    const anyCost = fc.integer({ min: 1, max: 1_000 });
    fc.assert(
      fc.property(fc.tuple(anyCost, anyCost, anyCost, anyCost, anyCost), (values) => {
        const phases = phasesOf(recordOf(values));
        const fitted = fitCosts(phases, cpuOf);
        for (const phase of phases) expect(predict(fitted, phase.drivers) / cpuOf(phase)).toBeCloseTo(1, 2);
      }),
      { numRuns: 10 },
    );
  });

  test("are never below 0, and 0 for drivers that may cost nothing", () => {
    const phases = phasesOf(recordOf([100, 50, 20, 300, 10]));
    const fitted = fitCosts(phases, cpuOf, ["seconds", "events"]);
    expect(fitted).toMatchObject({ deliveries: 0, generations: 0, openSeconds: 0 });
    expect(Math.min(...Object.values(fitted))).toBeGreaterThanOrEqual(0);
  });
});

describe("the calculator", () => {
  test("plans as many creates as end, and keeps them for the retention", () => {
    const load = toLoad({
      ...EXAMPLE,
      generations: 100,
      tokensPerSecond: 20,
      tokens: 200,
      retentionHours: 2,
    });
    expect(load.creates).toBe(10);
    expect(load.keptGenerations).toBe(72_000);
  });

  test("has a disk for blobs where there are uploads: their content, kept for its time, in each replica", () => {
    const disksOf = (demand: object) =>
      planCapacity(
        COSTS,
        { ...EXAMPLE, generations: 100, tokensPerSecond: 20, tokens: 200, ...demand },
        DEPLOYMENT,
      ).disks;
    const blobs = disksOf({ blobMegabytes: 2, blobHours: 12 }).find(({ what }) => what === "BLOB_CHUNKS");
    // 10 creates a second.
    expect(blobs).toMatchObject({ keptDays: 0.5, copies: 3 });
    expect(blobs!.bytes / (10 * 12 * 3_600 * 2e6 * 3)).toBeCloseTo(1.0015, 4);
    expect(disksOf({}).map(({ what }) => what)).not.toContain("BLOB_CHUNKS");
  });

  test("counts a checkpoint every 64 events or 2 s, and rewrites a large one when it has grown by a quarter", () => {
    expect(checkpointsOf(256, 1_000).count).toBe(4);
    expect(checkpointsOf(100, 10).count).toBe(5);
    const [short, long] = [checkpointsOf(1_000, 1_000), checkpointsOf(100_000, 1_000)];
    expect(long.count).toBeLessThan(3 * short.count);
  });

  test("asks for ten times as much of everything for ten times as many generations, to a process and to a shard", () => {
    const plan = (generations: number) => planCapacity(COSTS, { ...EXAMPLE, generations }, DEPLOYMENT);
    const [small, large] = [plan(10_000), plan(100_000)];
    for (const [at, { role, cores, processes }] of large.roles.entries()) {
      expect(cores / small.roles[at]!.cores, role).toBeGreaterThan(8);
      expect(cores / small.roles[at]!.cores, role).toBeLessThan(12);
      expect(processes, role).toBeLessThanOrEqual(10 * small.roles[at]!.processes);
    }
    expect(large.shards).toBeLessThanOrEqual(10 * small.shards);
    expect(large.shards).toBeGreaterThan(9 * small.shards);
  });

  test("halves the processes on cores that are twice as fast", () => {
    const of = (coreSpeed: number) => planCapacity(COSTS, EXAMPLE, { ...DEPLOYMENT, coreSpeed });
    for (const [at, { cores }] of of(2).roles.entries())
      expect(cores / of(1).roles[at]!.cores).toBeLessThan(0.55);
  });

  test("lists bounds in the order in which they are met, and each bound holds at its number of generations", () => {
    const points = findBreakingPoints(COSTS, EXAMPLE, FIRST_SETUP);
    const numbers = points.map(({ generations }) => generations);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    for (const { perGeneration, generations, limit } of points)
      expect((perGeneration * generations) / limit).toBeCloseTo(1, 6);
  });

  test.each([
    ["--generations", "0"],
    ["--tokens-per-second", "fast"],
    ["--moderated", "1.5"],
    ["--replicas", ""],
  ])("refuses %s %s and names the option", (option, value) => {
    expect(() => parseCapacityOptions([option, value])).toThrow(option);
  });

  test("takes from docs/benchmarks.md what it says is there", () => {
    const page = read("benchmarks.md");
    for (const { text, value } of COSTS.benchmarks) {
      expect(page).toContain(text);
      expect(Number(/[\d,.]+/.exec(text)?.[0].replaceAll(",", ""))).toBe(value);
    }
  });
});

describe("the load that the costs are not fitted to", () => {
  const { heldOut } = COSTS.capacity;
  const DRIVEN: Drivers = {
    seconds: 20,
    events: 30_000,
    deliveries: 50_000,
    generations: 400,
    openSeconds: 4_000,
  };
  const STORED = { events: 40_000, generations: 700 };
  const left = leftOnDisk(COSTS, STORED);
  const made: HeldOut = {
    phase: {
      name: "held out",
      drivers: DRIVEN,
      usage: Object.fromEntries(
        Object.entries(COSTS.capacity.roles).map(([role, { cpuMicros }]) => [
          role,
          { cpuMicros: 2 * predict(cpuMicros, DRIVEN), readBytes: 0, writtenBytes: 0 },
        ]),
      ),
    },
    openGenerations: 200,
    readers: 400,
    keptGenerations: 1_000,
    rssBytes: { worker: 1e8 },
    stored: {
      ...STORED,
      streamBytes: { GENERATIONS: left.GENERATIONS / 2, VERDICTS: left.VERDICTS, OPS: 10 },
      archiveBytes: left.archive,
      analyticsBytes: left.commits,
    },
  };

  test("is compared with what the table says of it, leaving out what was too little to be measured", () => {
    const compared = compareHeldOut(COSTS, made);
    const ratios = (kind: string) =>
      Object.fromEntries(
        compared
          .filter((each) => each.kind === kind)
          .map(({ what, predicted, measured }) => [what, predicted / measured]),
      );
    const ofRoles = Object.keys(COSTS.capacity.roles).map((role) => [role, expect.closeTo(0.5, 6)]);
    expect(ratios("CPU")).toEqual(Object.fromEntries(ofRoles));
    expect(ratios("disk")).toEqual({ GENERATIONS: 2, VERDICTS: 1, archive: 1, "analytics, commits": 1 });
    const { rssBytes, bytesPerGeneration } = COSTS.capacity.roles["worker"]!;
    expect(ratios("memory")["worker"]).toBeCloseTo((rssBytes + 2 * 200 * bytesPerGeneration) / 1e8, 6);
  });

  test.runIf(heldOut)(
    "took about what the calculator says: CPU within a factor of 3, disk of 2, memory of 1.5",
    () => {
      const factors = { CPU: 3, disk: 2, memory: 1.5 };
      const compared = compareHeldOut(COSTS, heldOut!);
      expect(new Set(compared.map(({ kind }) => kind)).size).toBe(3);
      const far = compared.filter(
        ({ kind, predicted, measured }) =>
          Math.max(predicted, measured) > factors[kind] * Math.min(predicted, measured),
      );
      expect(far).toEqual([]);
    },
  );
});

describe("the simulation of a token's path", () => {
  const PATH = {
    tokensPerSecond: 50,
    serviceMs: { worker: 0.05, stream: 0.04, delivery: 0.03 },
    warmUpMs: 200,
    lastsMs: 1_200,
    seed: 1,
  };

  test("writes each token once, in at most as many events, and none before it was due", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(1_000), (generations, seed) => {
        const run = simulatePath({ ...PATH, generations, seed });
        expect(run.latencies).toHaveLength(run.tokens);
        expect(run.events).toBeLessThanOrEqual(run.tokens);
        // 50 tokens in the measured second, each generation's first one at random.
        expect(Math.abs(run.tokens - 50 * generations)).toBeLessThanOrEqual(generations);
        expect(Math.min(...run.latencies.map(({ latencyMs }) => latencyMs))).toBeGreaterThan(0);
      }),
      { numRuns: 15 },
    );
  });

  test("puts more tokens into an event where the load is more than all that a station can do, so that tokens wait for a bounded time", () => {
    const [half, twice] = [200, 800].map((generations) => simulatePath({ ...PATH, generations }));
    expect(half!.tokens / half!.events).toBeLessThan(1.05);
    expect(twice!.tokens / twice!.events).toBeGreaterThan(1.5);
    // Each generation has one event under way: a token waits for two turns of all of them at most, by their mean.
    const bound = 3 * 800 * PATH.serviceMs.worker;
    expect(Math.max(...twice!.latencies.map(({ latencyMs }) => latencyMs))).toBeLessThan(bound);
  });

  test("lets no event through while the stream has no leader, and catches up with one event for each generation", () => {
    const election = { atMs: 400, lastsMs: 500 };
    const run = simulatePath({ ...PATH, generations: 100, election });
    const during = run.latencies.filter(({ dueMs }) => dueMs > 410 && dueMs < 900);
    for (const { dueMs, latencyMs } of during) expect(dueMs + latencyMs).toBeGreaterThan(900);
    const late = run.latencies.filter(({ dueMs, latencyMs }) => dueMs < 900 && dueMs + latencyMs > 950);
    expect(late).toEqual([]);
  });
});

test("docs/operations/capacity.md and its plot show what the script says now", () => {
  const study = studyPath(COSTS);
  const page = read("operations/capacity.md");
  expect(fillPage(page, formatPage(COSTS, study))).toBe(page);
  expect(read("operations/capacity.svg")).toBe(formatPathPlot(study));
});
