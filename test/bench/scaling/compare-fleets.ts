import { NO_SCALE_STATE, planScale, SCALE_DEFAULTS, type WorkerScaling } from "@reprise/delivery/scaling";
import { type Arrival, readArrivals } from "./read-arrivals.ts";
import { type FleetRun, type Scaler, simulateFleet, type WorkerModel } from "./simulate-fleet.ts";
import { toDay } from "./to-day.ts";

export interface Fleet {
  readonly name: string;
  readonly run: FleetRun;
}

export interface Comparison {
  readonly trace: string;
  readonly requests: number;
  /** Slots that are busy on average over the whole trace, and in the busiest minute. */
  readonly load: { readonly mean: number; readonly peak: number };
  /** What the table shows. */
  readonly fixed: readonly Fleet[];
  readonly planned: readonly [Fleet, ...Fleet[]];
  /** Fixed fleets of all sizes that the plot shows. */
  readonly curve: readonly FleetRun[];
}

export const WORKER: WorkerModel = {
  slots: 4,
  prefillTokensPerSecond: 8_000,
  decodeTokensPerSecond: 30,
  coldStartMs: [48_000, 72_000],
};
const { workers: SETTINGS, delivery } = SCALE_DEFAULTS;
/** As often as Kubernetes' autoscaler asks. */
const SCALE_MS = 15_000;
const MINUTE_MS = 60_000;
/** How many more workers than for the busiest minute the largest fixed fleet has. */
const MORE_WORKERS = 6;

/** Replays each trace against fixed fleets, and against fleets that obey `planScale`. */
export async function compareFleets(seed: number): Promise<Comparison[]> {
  const read = (file: string) => readArrivals(new URL(`../traces/${file}`, import.meta.url));
  const [conversations, code] = await Promise.all([read("azure-conv-hour.csv"), read("azure-code-hour.csv")]);
  return [
    compareOne("conversations", conversations, seed),
    compareOne("code completion", code, seed),
    compareOne("conversations, a day made of the hour", toDay(conversations, seed), seed),
  ];
}

function compareOne(trace: string, arrivals: readonly Arrival[], seed: number): Comparison {
  const load = loadOf(arrivals);
  const sizeFor = (slots: number) => Math.max(1, Math.ceil(slots / WORKER.slots));
  const [forMean, forPeak] = [sizeFor(load.mean), sizeFor(load.peak)];
  const fixed = (workers: number) => simulateFleet({ arrivals, worker: WORKER, workers, seed });
  const planned = (coldStartMs: number, min = SETTINGS.min): Fleet => ({
    name: `planned, cold start ${coldStartMs / 1e3} s${min > SETTINGS.min ? `, at least ${min}` : ""}`,
    run: simulateFleet({
      arrivals,
      worker: { ...WORKER, coldStartMs: [0.8 * coldStartMs, 1.2 * coldStartMs] },
      workers: Math.max(min, forMean),
      scaler: createPlanner({ coldStartMs, min }),
      seed,
    }),
  });
  const sizes = Array.from({ length: forPeak + MORE_WORKERS + 1 - forMean }, (_, i) => forMean + i);
  const curve = sizes.map(fixed);
  const meetsTarget = ({ waitMs }: FleetRun) =>
    quantile(waitMs, SETTINGS.target.share) <= SETTINGS.target.waitMs;
  const fewest = forMean + Math.max(0, curve.findIndex(meetsTarget));
  const first = planned(SETTINGS.coldStartMs);
  const runOf = (size: number) => curve[size - forMean]!;
  const nearest = (one: number, other: number) =>
    distance(runOf(one), first.run) <= distance(runOf(other), first.run) ? one : other;
  const chosen = [
    ["for the mean", forMean],
    ["for the busiest minute", forPeak],
    ["the fewest that meet the target", fewest],
    ["at the plan's cost", sizes.reduce(nearest)],
  ] as const;
  return {
    trace,
    requests: arrivals.length,
    load,
    fixed: chosen.map(([why, size]) => ({ name: `${size} fixed: ${why}`, run: runOf(size) })),
    planned: [first, planned(SETTINGS.coldStartMs, fewest), planned(10_000), planned(180_000)],
    curve,
  };
}

function distance(one: FleetRun, other: FleetRun): number {
  return Math.abs(one.workerHours - other.workerHours);
}

/** The plan of delivery's `GET /v1/ops/scale`, obeyed. */
function createPlanner(changes: Partial<WorkerScaling> = {}): Scaler {
  const settings = { workers: { ...SETTINGS, slots: WORKER.slots, ...changes }, delivery };
  let state = NO_SCALE_STATE;
  return {
    everyMs: SCALE_MS,
    wanted(seen, nowMs) {
      const observation = { models: new Map([["m", seen]]), delivery: { nodes: 1, readers: 0, cpu: 0 } };
      const next = planScale(state, observation, nowMs, settings);
      state = next.state;
      return next.plan.models.get("m")?.wantedWorkers ?? 0;
    },
  };
}

function loadOf(arrivals: readonly Arrival[]): Comparison["load"] {
  const minutes = new Map<number, number>();
  for (const { atMs, inputTokens, outputTokens } of arrivals) {
    const { prefillTokensPerSecond, decodeTokensPerSecond } = WORKER;
    const busyMs = (inputTokens / prefillTokensPerSecond + outputTokens / decodeTokensPerSecond) * 1e3;
    const minute = Math.floor(atMs / MINUTE_MS);
    minutes.set(minute, (minutes.get(minute) ?? 0) + busyMs);
  }
  const total = [...minutes.values()].reduce((sum, busyMs) => sum + busyMs, 0);
  return { mean: total / arrivals.at(-1)!.atMs, peak: Math.max(...minutes.values()) / MINUTE_MS };
}

/** @param share 0.5 for the median */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
