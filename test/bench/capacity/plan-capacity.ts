import { predict } from "../scenarios/capacity/fit-costs.ts";
import { type Demand, type Load, toLoad } from "./load.ts";
import { benchmarkCost, type FittedCosts, type UnitCosts } from "./unit-costs.ts";

/** What is planned with; all of it may be set on the command line. */
export interface Deployment {
  readonly replicas: number;
  /** Of a core of the machine of the table: 2 is twice as fast. */
  readonly coreSpeed: number;
  /** How much of a core is planned to be used: the rest is for bursts, and for what a failed process leaves to the others. */
  readonly utilisation: number;
  /** Of each machine with a nats-server. */
  readonly serverCores: number;
  /** The most readers that a node of delivery is given: REPRISE_SCALE_READERS. */
  readonly readersPerNode: number;
}

export const DEPLOYMENT: Deployment = {
  replicas: 3,
  coreSpeed: 1,
  utilisation: 0.6,
  serverCores: 8,
  readersPerNode: 5_000,
};

export interface RolePlan {
  readonly role: string;
  readonly cores: number;
  readonly processes: number;
  readonly memoryBytes: number;
  /** Of all processes of the role together, each second. */
  readonly readBytes: number;
  readonly writtenBytes: number;
}

export interface DiskPlan {
  readonly what: string;
  readonly bytesPerMillionTokens: number;
  readonly keptDays: number;
  readonly copies: number;
  readonly bytes: number;
}

export interface CapacityPlan {
  readonly demand: Demand;
  readonly deployment: Deployment;
  readonly load: Load;
  readonly roles: readonly RolePlan[];
  readonly shards: number;
  /** What asks for so many shards. */
  readonly shardReasons: readonly { readonly why: string; readonly shards: number }[];
  readonly disks: readonly DiskPlan[];
}

/** V8 lets a heap grow to about twice what is alive before it collects all of it. */
const HEAP_HEADROOM = 2;
/** Above it the index of a stream's subjects dominates the memory of its server; what Synadia warns of. */
export const SUBJECTS_PER_STREAM = 1_000_000;
/** A node of Node.js, and Redis, use one core. */
const SINGLE_CORE_ROLES: ReadonlySet<string> = new Set([
  "worker",
  "delivery",
  "moderation",
  "audit-log",
  "analytics",
  "redis",
]);
/** Copies of what an operator's store keeps are the store's own. */
const STORE_COPIES = 1;
const MEGA = 1e6;
const DAY_HOURS = 24;
/** Of chunks of 128 KiB, what the broker stores for each byte of content: measured with five blobs of 20 MB. */
const STORED_PER_BLOB_BYTE = 1.0015;

export function planCapacity(costs: UnitCosts, demand: Demand, deployment: Deployment): CapacityPlan {
  const load = toLoad(demand);
  const roles = Object.keys(costs.capacity.roles).map((role) =>
    planRole(role, costs, load, deployment, demand),
  );
  const shardReasons = planShards(costs, load, deployment);
  return {
    demand,
    deployment,
    load,
    roles,
    shards: Math.max(...shardReasons.map(({ shards }) => shards)),
    shardReasons,
    disks: planDisks(costs, load, demand, deployment),
  };
}

/** How many times what one server does for an event all servers together do for it with so many replicas. */
export function replicaFactor({ capacity: { ceilings } }: UnitCosts, replicas: number): number {
  const of = (count: number) => ceilings.find((each) => each.replicas === count)!.serversMicros;
  // Each replica beyond the leader costs the same.
  return 1 + ((replicas - 1) / 2) * (of(3) / of(1) - 1);
}

/** Events that one stream takes in each second, of a worker process and servers on the table's machine. */
export function streamCeiling(
  { capacity: { ceilings } }: UnitCosts,
  { replicas, coreSpeed }: Pick<Deployment, "replicas" | "coreSpeed">,
): number {
  const measured = ceilings.find((each) => each.replicas === (replicas === 1 ? 1 : 3))!;
  return measured.eventsPerSecond * coreSpeed;
}

function planRole(
  role: string,
  costs: UnitCosts,
  load: Load,
  deployment: Deployment,
  { moderated }: Demand,
): RolePlan {
  const { replicas, coreSpeed, utilisation, serverCores, readersPerNode } = deployment;
  const own = costs.capacity.roles[role]!;
  const share = role === "moderation" ? moderated : 1;
  const copies = role === "nats-server" ? replicaFactor(costs, replicas) : 1;
  const drivers = {
    seconds: 0,
    events: share * load.events,
    deliveries: load.deliveries,
    generations: share * load.creates,
    openSeconds: share * load.openGenerations,
  };
  const busy = (predict(own.cpuMicros, drivers) * copies) / MEGA / coreSpeed;
  const idle = own.cpuMicros.seconds / MEGA / coreSpeed;
  const perProcess = Math.max(utilisation * (SINGLE_CORE_ROLES.has(role) ? 1 : serverCores) - idle, 0.05);
  const readers = load.openGenerations === 0 ? 0 : (load.deliveries / load.events) * load.openGenerations;
  const least = role === "nats-server" ? replicas : 1;
  const forReaders = role === "delivery" ? Math.ceil(readers / readersPerNode) : 0;
  const processes = Math.max(least, forReaders, Math.ceil(busy / perProcess));
  const memoryBytes = memoryOf(role, costs, {
    processes,
    openGenerations: share * load.openGenerations,
    readers,
    subjects: replicas * keptSubjects(load, moderated),
  });
  return {
    role,
    cores: busy + processes * idle,
    processes,
    memoryBytes,
    readBytes: predict(own.readBytes, drivers) * copies,
    writtenBytes: predict(own.writtenBytes, drivers) * copies,
  };
}

/** Of all processes of a role together: what each has under load, twice what is alive for each generation, and what readers and subjects take. */
export function memoryOf(
  role: string,
  costs: FittedCosts,
  of: {
    readonly processes: number;
    readonly openGenerations: number;
    readonly readers: number;
    /** Of all replicas. */
    readonly subjects: number;
  },
): number {
  const { roles, bytesPerSubject } = costs.capacity;
  const { rssBytes, bytesPerGeneration } = roles[role]!;
  const headroom = role === "nats-server" || role === "redis" ? 1 : HEAP_HEADROOM;
  return (
    of.processes * rssBytes +
    headroom * bytesPerGeneration * of.openGenerations +
    (role === "delivery" ? of.readers * 1_024 * benchmarkCost(costs, "idleReaderKilobytes") : 0) +
    (role === "nats-server" ? of.subjects * bytesPerSubject : 0)
  );
}

/** What so many events and generations leave on disk, one copy, by what it is. */
export function leftOnDisk(
  { capacity: { disk } }: FittedCosts,
  { events, generations }: { readonly events: number; readonly generations: number },
): Readonly<Record<"GENERATIONS" | "CHECKPOINTS" | "VERDICTS" | "OPS" | "archive" | "commits", number>> {
  const ofEvents = (bytes = 0) => (bytes / disk.events) * events;
  const ofGenerations = (bytes = 0) => (bytes / disk.generations) * generations;
  const { streamBytes, archiveBytes, analyticsBytes } = disk;
  return {
    GENERATIONS: ofEvents(streamBytes["GENERATIONS"]),
    CHECKPOINTS: ofEvents(streamBytes["CHECKPOINTS"]),
    VERDICTS: ofGenerations(streamBytes["VERDICTS"]),
    OPS: ofGenerations(streamBytes["OPS"]),
    archive: ofEvents(archiveBytes),
    commits: ofGenerations(analyticsBytes),
  };
}

/** Of each generation that is kept: its log, its checkpoint and then the marker of it for as long again, its record of deliveries, its verdict. */
export function keptSubjects({ keptGenerations }: Load, moderated: number): number {
  return keptGenerations * (4 + moderated);
}

function planShards(costs: UnitCosts, load: Load, deployment: Deployment): CapacityPlan["shardReasons"] {
  const { utilisation, coreSpeed } = deployment;
  const perLane = (role: string) =>
    (load.events * costs.capacity.roles[role]!.cpuMicros.events) / MEGA / coreSpeed / utilisation;
  const reasons = [
    ["what one stream takes in", load.events / (utilisation * streamCeiling(costs, deployment))],
    ["one process of the audit log for each", perLane("audit-log")],
    ["one process of analytics for each", perLane("analytics")],
    [
      `${SUBJECTS_PER_STREAM.toLocaleString("en-US")} generations kept in each`,
      load.keptGenerations / SUBJECTS_PER_STREAM,
    ],
  ] as const;
  return reasons.map(([why, shards]) => ({ why, shards: Math.max(1, Math.ceil(shards)) }));
}

function planDisks(
  costs: UnitCosts,
  { tokens, events, creates }: Load,
  { retentionHours, archiveDays, blobMegabytes, blobHours }: Demand,
  { replicas }: Deployment,
): DiskPlan[] {
  const [eventsPerToken, generationsPerToken] = [events / tokens, creates / tokens];
  const left = leftOnDisk(costs, { events: eventsPerToken, generations: generationsPerToken });
  const tokensPerDay = tokens * DAY_HOURS * 3_600;
  const kept = (what: string, bytesPerToken: number, keptDays: number, copies: number): DiskPlan => ({
    what,
    bytesPerMillionTokens: bytesPerToken * MEGA,
    keptDays,
    copies,
    bytes: bytesPerToken * tokensPerDay * keptDays * copies,
  });
  const days = retentionHours / DAY_HOURS;
  const blobBytes = blobMegabytes * MEGA * STORED_PER_BLOB_BYTE * generationsPerToken;
  const blobs = [kept("BLOB_CHUNKS", blobBytes, blobHours / DAY_HOURS, replicas)];
  return [
    kept("GENERATIONS", left.GENERATIONS, days, replicas),
    kept("CHECKPOINTS", left.CHECKPOINTS, days, replicas),
    kept("VERDICTS", left.VERDICTS, days, replicas),
    kept("OPS", left.OPS, days, replicas),
    ...(blobMegabytes > 0 ? blobs : []),
    kept("archive", left.archive, archiveDays, STORE_COPIES),
    kept("analytics, rows", costs.analytics.bytesPerRow * generationsPerToken, archiveDays, STORE_COPIES),
    // Commits stay until nothing of their stream can be read again.
    kept("analytics, commits", left.commits, days, STORE_COPIES),
  ];
}
