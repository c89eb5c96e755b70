import type { Redis, Result } from "ioredis";
import {
  type Counters,
  type Decision,
  LEASE_RETRY_MS,
  type LeaseCheck,
  type LimitCheck,
  type RateCheck,
} from "./counters.ts";
import { KEY_PREFIX } from "../redis/key-names.ts";
import { SETTLE_SCRIPT, TAKE_SCRIPT } from "./counting-script.ts";

declare module "ioredis" {
  interface RedisCommander<Context> {
    repriseTake(keyCount: number, ...keysAndArguments: (string | number)[]): Result<number[], Context>;
    repriseSettle(key: string, ...args: (string | number)[]): Result<number, Context>;
  }
}

const FIELDS = 3;

/**
 * Counters that all nodes share. Each call is one round trip. In a Redis Cluster the keys of one call must lie in one slot: they carry
 * the same hash tag. Rejects when Redis does not answer as the connection's settings demand.
 */
export class RedisCounters implements Counters {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #now: () => number | "";

  /** @param now for tests; Redis keeps the time otherwise */
  constructor(redis: Redis, { prefix = KEY_PREFIX, now }: { prefix?: string; now?: () => number } = {}) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#now = now ?? (() => "");
    redis.defineCommand("repriseTake", { lua: TAKE_SCRIPT });
    redis.defineCommand("repriseSettle", { lua: SETTLE_SCRIPT, numberOfKeys: 1 });
  }

  async take(checks: readonly LimitCheck[]): Promise<Decision> {
    if (checks.length === 0) return { standings: [] };
    const [refusedNumber = 0, ...fields] = await this.#redis.repriseTake(
      checks.length,
      ...checks.map(({ key }) => this.#prefix + key),
      this.#now(),
      ...checks.flatMap(toArguments),
    );
    const standings = checks.map((check, i) => {
      const [remaining = 0, resetMs = 0] = fields.slice(i * FIELDS, (i + 1) * FIELDS);
      return { check, remaining, resetMs };
    });
    const check = checks[refusedNumber - 1];
    if (!check) return { standings };
    const waitMs = check.kind === "lease" ? LEASE_RETRY_MS : (fields[(refusedNumber - 1) * FIELDS + 2] ?? 0);
    return { standings, refused: { check, ...(waitMs >= 0 && { retryAfterMs: waitMs }) } };
  }

  async settle({ key, limit, windowMs }: Omit<RateCheck, "cost">, units: number): Promise<void> {
    await this.#redis.repriseSettle(this.#prefix + key, this.#now(), limit, windowMs, units);
  }

  async release(leases: readonly Pick<LeaseCheck, "key" | "member">[]): Promise<void> {
    if (leases.length === 0) return;
    const pipeline = this.#redis.pipeline();
    for (const { key, member } of leases) pipeline.zrem(this.#prefix + key, member);
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
  }
}

function toArguments(check: LimitCheck): (string | number)[] {
  return check.kind === "rate"
    ? ["rate", check.limit, check.windowMs, check.cost]
    : ["lease", check.limit, check.ttlMs, check.member];
}
