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
  /** Redis, for what counts over all processes; undefined where this process counts alone. */
  redisUrl: string | undefined;
  /** Which processes this one belongs to: limits are divided between nodes of delivery, budgets between all. */
  kind: "delivery" | "worker";
  /** This process's name; no other one's. */
  process: string;
  /**
   * Told once when Redis does not answer, from the start or any more, and this process goes on with its share; and once when it
   * is back. The error is the connection's where that has one. It does not have what was sent.
   */
  onAway: (error: unknown) => void;
  onBack: () => void;
  heartbeatMs?: number;
  /** How long a call waits for Redis before the process decides alone. Default 250 ms. */
  timeoutMs?: number | undefined;
  /** Wall-clock milliseconds of the ledger, for tests. Default: Redis keeps the time. */
  now?: () => number;
}

export interface SharedState extends AsyncDisposable {
  /** What limits are counted with. */
  readonly counters: Counters;
  readonly ledger: BudgetLedger;
  /** Whether this process counts alone because Redis does not answer. */
  readonly isAway: boolean;
}

/** How long a start waits for Redis. */
const START_MS = 2_000;
const HEARTBEAT_MS = 10_000;
/** A process that has been silent for so many heartbeats has no share any more. */
const MISSED_HEARTBEATS = 3;

/**
 * Opens the counters that limits are counted with, and the ledger of budgets. Redis is waited for, but need not be there: until it is, and whenever it is not, this process
 * grants its share of what there is, by the number of processes that Redis knew last.
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
  // A connection that fails is noticed by its commands, which fail with it, but do not say why.
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

/** The client's own error has the command with it: keys, which have tenants and addresses in them, and scripts. */
function refusal(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error));
}

function noConnection({ status }: Redis): Error {
  const hint = "does the URL name its host and port, and rediss:// where they speak TLS?";
  return new Error(`There is no connection to Redis (${status}); ${hint}`);
}

/** @returns how many processes of each kind have been heard of within the time */
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
