import { pause } from "@reprise/async";
import type { Redis } from "ioredis";
import type { Counters } from "./counters.ts";
import { MemoryCounters } from "./memory-counters.ts";
import { openRedis } from "./open-redis.ts";
import { KEY_PREFIX, RedisCounters } from "./redis-counters.ts";
import { SharedCounters } from "./shared-counters.ts";

export interface OpenCountersOptions {
  /** Redis, for limits over all nodes; undefined where this node counts alone. */
  redisUrl: string | undefined;
  /** This node's name; no other node's. */
  node: string;
  /**
   * Told once when Redis does not answer, from the start or any more, and this node goes on with its share of each limit; and once when it
   * is back. The error is the connection's where that has one. It does not have what was sent.
   */
  onAway: (error: unknown) => void;
  onBack: () => void;
  heartbeatMs?: number;
  /** How long a check waits for Redis before the node decides alone. Default 250 ms. */
  timeoutMs?: number | undefined;
}

export interface OpenCounters extends AsyncDisposable {
  readonly counters: Counters;
  /** Whether this node counts alone because Redis does not answer. */
  readonly isAway: boolean;
}

/** How long a start waits for Redis. */
const START_MS = 2_000;
const NODES_KEY = `${KEY_PREFIX}nodes`;
const HEARTBEAT_MS = 10_000;
/** A node that has been silent for so many heartbeats has no share any more. */
const MISSED_HEARTBEATS = 3;

/**
 * Opens the counters that limits are counted with. Redis is waited for, but need not be there: until it is, and whenever it is not, this node
 * grants its share of each limit, by the number of nodes that Redis knew last.
 * @throws RepriseError `config_invalid` for a URL that is no Redis URL
 */
export async function openCounters({ redisUrl, ...options }: OpenCountersOptions): Promise<OpenCounters> {
  const local = new MemoryCounters();
  if (redisUrl === undefined)
    return { counters: local, isAway: false, [Symbol.asyncDispose]: async () => {} };
  const { node, onAway, onBack, heartbeatMs = HEARTBEAT_MS, timeoutMs } = options;
  let connectionError: Error | undefined;
  // A connection that fails is noticed by its commands, which fail with it, but do not say why.
  const redis = openRedis(redisUrl, { onError: (error) => (connectionError = error), timeoutMs });
  redis.on("ready", () => (connectionError = undefined));
  let nodes = 1;
  const counters = new SharedCounters({
    shared: new RedisCounters(redis),
    local,
    nodes: () => nodes,
    onAway: (error) =>
      onAway(connectionError ?? (redis.status === "ready" ? refusal(error) : noConnection(redis))),
    onBack,
  });
  const beat = async () => {
    try {
      nodes = await announceNode(redis, node, MISSED_HEARTBEATS * heartbeatMs);
      counters.found("node");
    } catch (error) {
      counters.lost("node", error);
    }
    await counters.probe();
  };
  const ready = new AbortController();
  redis.once("ready", () => void beat().then(() => ready.abort()));
  await pause(START_MS, ready.signal);
  if (!ready.signal.aborted) await beat();
  const timer = setInterval(() => void beat(), heartbeatMs);
  return {
    counters,
    get isAway() {
      return counters.isAway;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await redis.zrem(NODES_KEY, node).catch(() => {});
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

/** @returns how many nodes have been heard of within the time */
async function announceNode(redis: Redis, node: string, withinMs: number): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  await redis.zadd(NODES_KEY, nowMs, node);
  await redis.zremrangebyscore(NODES_KEY, "-inf", nowMs - withinMs);
  await redis.pexpire(NODES_KEY, withinMs);
  return redis.zcard(NODES_KEY);
}
