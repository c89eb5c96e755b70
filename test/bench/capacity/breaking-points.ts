import { type Demand, toLoad } from "./load.ts";
import {
  DEPLOYMENT,
  type Deployment,
  keptSubjects,
  replicaFactor,
  streamCeiling,
  SUBJECTS_PER_STREAM,
} from "./plan-capacity.ts";
import { predict } from "../scenarios/capacity/fit-costs.ts";
import type { UnitCosts } from "./unit-costs.ts";

/** A platform as it is set up first, before anything is changed for its size. */
export interface Setup extends Deployment {
  readonly shards: number;
  readonly servers: number;
  /** Of each server's network and of its disk, in each direction. */
  readonly networkBytesPerSecond: number;
  readonly diskBytesPerSecond: number;
  readonly serverMemoryBytes: number;
}

/** Three servers of 8 cores and 64 GB, 10 Gbit/s, a disk that writes 1 GB/s, and the default number of shards. */
export const FIRST_SETUP: Setup = {
  ...DEPLOYMENT,
  shards: 4,
  servers: 3,
  networkBytesPerSecond: 1.25e9,
  diskBytesPerSecond: 1e9,
  serverMemoryBytes: 64e9,
};

/** One bound of a platform that is not simply more processes. */
export interface BreakingPoint {
  readonly what: string;
  /** What uses it, each second or at a time, for one generation that runs; all of it grows with their number. */
  readonly perGeneration: number;
  readonly limit: number;
  readonly unit: string;
  /** Generations at a time with which the limit is reached. */
  readonly generations: number;
  readonly remedy: string;
  /** Whether only a further cluster helps, without a change of the code. */
  readonly needsCells: boolean;
}

/** So many at a time are planned for; all that is used is divided by them. */
const PLANNED = 10_000;
/** A subscription at a server: nats-server 2.15.1, 100,000 on one connection. */
const SUBSCRIPTION_BYTES = 1_400;
/** The worker's and delivery's, each; routes tell all servers of a cluster of each. */
const SUBSCRIPTIONS = 2;
const MEGA = 1e6;

/** In the order in which a growing platform meets them. */
export function findBreakingPoints(costs: UnitCosts, demand: Demand, setup: Setup): BreakingPoint[] {
  const load = toLoad({ ...demand, generations: PLANNED });
  const { utilisation, coreSpeed, replicas, shards, servers, serverCores } = setup;
  const { roles, disk, bytesPerSubject } = costs.capacity;
  const stream = utilisation * streamCeiling(costs, setup);
  const drivers = {
    seconds: 0,
    events: load.events,
    deliveries: load.deliveries,
    generations: load.creates,
    openSeconds: load.openGenerations,
  };
  const cores = (role: string) => predict(roles[role]!.cpuMicros, drivers) / MEGA / coreSpeed;
  const laneCores = (role: string) =>
    (load.events * roles[role]!.cpuMicros.events) / MEGA / coreSpeed / shards;
  const opsPerGeneration = (disk.messages["OPS"] ?? 0) / disk.generations;
  const logBytes = ((disk.streamBytes["GENERATIONS"] ?? 0) / disk.events) * load.events;
  const subjects = keptSubjects(load, demand.moderated) * bytesPerSubject;
  const points: [what: string, used: number, limit: number, unit: string, remedy: string][] = [
    [
      "VERDICTS, one stream: messages",
      load.verdicts,
      stream,
      "/s",
      "moderate fewer generations; cells. A stream per shard needs code",
    ],
    [
      "CHECKPOINTS, one stream: messages",
      load.checkpoints,
      stream,
      "/s",
      "cells. A stream per shard needs code",
    ],
    [
      "CHECKPOINTS, its leader's network",
      load.checkpointBytes * replicas,
      utilisation * setup.networkBytesPerSecond,
      "bytes/s",
      "cells. A stream per shard needs code",
    ],
    [
      "CHECKPOINTS, subjects with markers (a warning)",
      2 * load.keptGenerations,
      SUBJECTS_PER_STREAM,
      "subjects",
      "a shorter retention, and replays from the archive; servers with memory for them",
    ],
    [
      "a shard's subjects (a warning)",
      load.keptGenerations / shards,
      SUBJECTS_PER_STREAM,
      "subjects",
      "a shorter retention; more shards",
    ],
    [
      "memory of a server for subjects",
      (subjects * replicas) / servers,
      utilisation * setup.serverMemoryBytes,
      "bytes",
      "a shorter retention; more servers",
    ],
    ["a shard: events", load.events / shards, stream, "/s", "more shards, and servers to lead them"],
    [
      "a shard's lane of the audit log",
      laneCores("audit-log"),
      utilisation,
      "cores",
      "more shards, and processes for them",
    ],
    [
      "a shard's lane of analytics",
      laneCores("analytics"),
      utilisation,
      "cores",
      "more shards, and processes for them",
    ],
    ["JOBS, one stream: creates and acknowledgements", 2 * load.creates, stream, "/s", "cells"],
    ["OPS, one stream: records", opsPerGeneration * load.creates, stream, "/s", "cells"],
    [
      "nats-server's CPU, all servers",
      cores("nats-server") * replicaFactor(costs, replicas),
      utilisation * serverCores * servers,
      "cores",
      "more servers: JetStream places streams over them; more shards, so that there are leaders to place",
    ],
    [
      "a server's disk: the log and checkpoints",
      ((logBytes + load.checkpointBytes) * replicas) / servers,
      utilisation * setup.diskBytesPerSecond,
      "bytes/s",
      "more servers and shards",
    ],
    [
      "subscriptions, on every server of a cluster",
      SUBSCRIPTIONS * load.openGenerations * SUBSCRIPTION_BYTES,
      utilisation * setup.serverMemoryBytes,
      "bytes",
      "cells; leaf nodes keep those of a site local",
    ],
    [
      "Redis, one core",
      cores("redis"),
      utilisation,
      "cores",
      "cells, each with a Redis; fewer limits per create",
    ],
  ];
  return points
    .map(([what, used, limit, unit, remedy]): BreakingPoint => {
      const perGeneration = used / PLANNED;
      const needsCells = remedy.includes("cells");
      return { what, perGeneration, limit, unit, generations: limit / perGeneration, remedy, needsCells };
    })
    .toSorted((one, other) => one.generations - other.generations);
}

/** Into how many clusters, each with services of its own, so many generations are divided. */
export function countCells(costs: UnitCosts, demand: Demand, setup: Setup): number {
  const bounds = findBreakingPoints(costs, demand, setup).filter(({ needsCells }) => needsCells);
  return Math.max(
    1,
    Math.ceil(demand.generations / Math.min(...bounds.map(({ generations }) => generations))),
  );
}
