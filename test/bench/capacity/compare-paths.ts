import { quantile } from "../scaling/compare-fleets.ts";
import { type PathRun, simulatePath } from "./simulate-path.ts";
import { streamCeiling } from "./plan-capacity.ts";
import type { UnitCosts } from "./unit-costs.ts";

export interface PathPoint {
  /** Of the tokens per second with which the busiest station would have no rest. */
  readonly share: number;
  readonly generations: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly tokensPerEvent: number;
}

export interface PathStudy {
  readonly tokensPerSecond: number;
  readonly serviceMs: { readonly worker: number; readonly stream: number; readonly delivery: number };
  /** Generations with which the busiest station would have no rest. */
  readonly full: number;
  readonly points: readonly PathPoint[];
  readonly election: ElectionStudy;
}

export interface ElectionStudy {
  readonly share: number;
  readonly generations: number;
  readonly lastsMs: number;
  /** From when the stream has a leader again until no token is later than `quietMs`. */
  readonly recoveredMs: number;
  readonly quietMs: number;
  /** The latest token of each bin. */
  readonly bins: readonly { readonly atMs: number; readonly latestMs: number }[];
}

const SEED = 1;
const TOKENS_PER_SECOND = 50;
const SHARES = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2];
const PLANNED_SHARE = 0.6;
const WARM_UP_MS = 1_000;
const LASTS_MS = 5_000;
/** A leader that is killed: an election takes 4 to 9 s. */
const ELECTION = { atMs: 2_000, lastsMs: 5_000 };
const ELECTION_LASTS_MS = 10_000;
const BIN_MS = 100;
const QUIET_MS = 50;
const REPLICAS = 3;

/** The path of a token under growing load, and through an election, with the services' times of the table. */
export function studyPath(costs: UnitCosts): PathStudy {
  const { roles } = costs.capacity;
  const eventMs = (role: string) => roles[role]!.cpuMicros.events / 1e3;
  const serviceMs = {
    worker: eventMs("worker"),
    stream: 1e3 / streamCeiling(costs, { replicas: REPLICAS, coreSpeed: 1 }),
    delivery: eventMs("delivery") + roles["delivery"]!.cpuMicros.deliveries / 1e3,
  };
  const full = 1e3 / Math.max(...Object.values(serviceMs)) / TOKENS_PER_SECOND;
  const path = { tokensPerSecond: TOKENS_PER_SECOND, serviceMs, seed: SEED, warmUpMs: WARM_UP_MS };
  const points = SHARES.map((share): PathPoint => {
    const generations = Math.max(1, Math.round(share * full));
    const run = simulatePath({ ...path, generations, lastsMs: LASTS_MS });
    const latencies = run.latencies.map(({ latencyMs }) => latencyMs);
    return {
      share,
      generations,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      tokensPerEvent: run.tokens / run.events,
    };
  });
  const generations = Math.round(PLANNED_SHARE * full);
  const run = simulatePath({ ...path, generations, election: ELECTION, lastsMs: ELECTION_LASTS_MS });
  return {
    tokensPerSecond: TOKENS_PER_SECOND,
    serviceMs,
    full,
    points,
    election: { share: PLANNED_SHARE, generations, lastsMs: ELECTION.lastsMs, ...toBins(run) },
  };
}

function toBins({ latencies }: PathRun): Pick<ElectionStudy, "recoveredMs" | "quietMs" | "bins"> {
  const bins = new Map<number, number>();
  let lastLateMs = 0;
  const backMs = ELECTION.atMs + ELECTION.lastsMs;
  for (const { dueMs, latencyMs } of latencies) {
    const atMs = BIN_MS * Math.floor(dueMs / BIN_MS);
    bins.set(atMs, Math.max(bins.get(atMs) ?? 0, latencyMs));
    if (latencyMs > QUIET_MS) lastLateMs = Math.max(lastLateMs, dueMs + latencyMs);
  }
  return {
    quietMs: QUIET_MS,
    recoveredMs: Math.max(0, lastLateMs - backMs),
    bins: [...bins].map(([atMs, latestMs]) => ({ atMs, latestMs })).toSorted((a, b) => a.atMs - b.atMs),
  };
}
