import { pause } from "@reprise/async";
import type { Redis } from "ioredis";
import type { BudgetLedger } from "./budgets/budget-ledger.ts";
import { MemoryLedger } from "./budgets/memory-ledger.ts";
import { RedisLedger } from "./budgets/redis-ledger.ts";
import { SharedLedger } from "./budgets/shared-ledger.ts";
import type { Counters } from "./limits/counters.ts";
import { MemoryCounters } from "./limits/memory-counters.ts";
import { RedisCounters } from "./limits/redis-counters.ts";
import { SharedCounters } from "./limits/shared-counters.ts";
import { openRedis } from "./redis/open-redis.ts";
import { PROCESS_KEYS } from "./redis/key-names.ts";
import { RedisAccess } from "./redis/redis-access.ts";

export interface OpenSharedOptions {
  /** Redis, for counts over all processes; undefined if this process counts alone. */
  redisUrl: string | undefined;
  /** The kind of this process: limits are divided between nodes of delivery, budgets between all processes. */
  kind: "delivery" | "worker";
  /** The name of this process alone. */
  process: string;
  /**
   * Called once when Redis does not answer, at the start or later, and this process continues with its share. The error is the
   * connection's if that has one. It does not hold the sent command.
   */
  onAway: (error: unknown) => void;
  onBack: () => void;
  heartbeatMs?: number;
  /** Milliseconds that a call waits for Redis before the process decides alone. Default 250 ms. */
  timeoutMs?: number | undefined;
  /** Wall-clock milliseconds of the ledger, for tests. Default: Redis keeps the time. */
  now?: () => number;
}

export interface SharedState extends AsyncDisposable {
  /** Counts limits. */
  readonly counters: Counters;
  readonly ledger: BudgetLedger;
  /** True while this process counts alone because Redis does not answer. */
  readonly isAway: boolean;
}

const START_MS = 2_000;
const HEARTBEAT_MS = 10_000;
/** Heartbeats after which a silent process loses its share. */
const MISSED_HEARTBEATS = 3;

/**
 * Opens the counters of limits and the ledger of budgets. A start waits for Redis, but does not need it: while Redis is away, this process grants its share, by the number of
 * processes that Redis knew last.
 * @throws RepriseError `config_invalid` for a URL that is no Redis URL
 */
export async function openShared({ redisUrl, ...options }: OpenSharedOptions): Promise<SharedState> {
  const local = new MemoryCounters();
  if (redisUrl === undefined)
    return {
      counters: local,
      ledger: new MemoryLedger(),
      isAway: false,
      [Symbol.asyncDispose]: async () => {},
    };
  const { kind, process, onAway, onBack, heartbeatMs = HEARTBEAT_MS, timeoutMs, now } = options;
  let connectionError: Error | undefined;
  // Commands fail with their connection, but do not say why it failed.
  const redis = openRedis(redisUrl, { onError: (error) => (connectionError = error), timeoutMs });
  redis.on("ready", () => (connectionError = undefined));
  let processes = { delivery: 1, worker: 1 };
  const access = new RedisAccess({
    onAway: (error) =>
      onAway(connectionError ?? (redis.status === "ready" ? refusal(error) : noConnection(redis))),
    onBack,
  });
  const shared = new RedisCounters(redis);
  const counters = new SharedCounters({ shared, local, nodes: () => processes.delivery, access });
  const ledger = new SharedLedger({
    shared: new RedisLedger(redis, { ...(now && { now }) }),
    processes: () => processes.delivery + processes.worker,
    access,
  });
  const beat = async () => {
    try {
      processes = await announce(redis, { kind, process, withinMs: MISSED_HEARTBEATS * heartbeatMs });
      access.found("process");
    } catch (error) {
      access.lost("process", error);
    }
    await counters.probe();
    await ledger.flush();
  };
  const ready = new AbortController();
  redis.once("ready", () => void beat().then(() => ready.abort()));
  await pause(START_MS, ready.signal);
  if (!ready.signal.aborted) await beat();
  const timer = setInterval(() => void beat(), heartbeatMs);
  return {
    counters,
    ledger,
    get isAway() {
      return access.isAway;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await redis.zrem(PROCESS_KEYS[kind], process).catch(() => {});
      redis.disconnect();
    },
  };
}

/** Drops the command that the client's error holds: keys, which name tenants and addresses, and scripts. */
function refusal(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error));
}

function noConnection({ status }: Redis): Error {
  const hint = "does the URL name its host and port, and rediss:// where they speak TLS?";
  return new Error(`There is no connection to Redis (${status}); ${hint}`);
}

/** @returns the number of processes of each kind that were heard of within the time */
async function announce(
  redis: Redis,
  { kind, process, withinMs }: Pick<OpenSharedOptions, "kind" | "process"> & { readonly withinMs: number },
): Promise<{ delivery: number; worker: number }> {
  const [seconds, microseconds] = await redis.time();
  const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  const own = PROCESS_KEYS[kind];
  await redis.zadd(own, nowMs, process);
  await redis.zremrangebyscore(own, "-inf", nowMs - withinMs);
  await redis.pexpire(own, withinMs);
  const count = (key: string) => redis.zcount(key, nowMs - withinMs, "+inf");
  return { delivery: await count(PROCESS_KEYS.delivery), worker: await count(PROCESS_KEYS.worker) };
}
