import { randomUUID } from "node:crypto";
import { type Counters, openShared, type TenantLimits, toLimitChecks } from "@reprise/tenancy";
import { createClient } from "redis";
import { type Samples, summarize } from "../../measure/samples.ts";
import { startBenchRedis } from "../../targets/bench-redis.ts";
import type { RunContext } from "../run-context.ts";

export interface LimitsRow {
  readonly scopes: string;
  /** Limits that a call is checked against. */
  readonly checks: number;
  /** Milliseconds of a check, one after the other. */
  readonly alone: Samples;
  /** Milliseconds of a check while so many are under way. */
  readonly together: Samples;
  /** Scripts that Redis has run for each check, by its own count. */
  readonly roundTrips: number;
}

export interface LimitsResult {
  readonly scenario: "LIMITS";
  readonly calls: number;
  readonly atOnce: number;
  readonly rows: readonly LimitsRow[];
}

const AT_ONCE = 64;
const WARM_UP_CALLS = 500;
const MANY = 1_000_000_000;
const OF_A_CREATE = { requests_per_minute: MANY, tokens_per_minute: MANY, generations: MANY };
const LIMITS: Readonly<Record<string, TenantLimits>> = {
  "requests of a tenant": { tenant: { requests_per_minute: MANY } },
  "a create, all scopes": {
    tenant: OF_A_CREATE,
    key: OF_A_CREATE,
    end_user: OF_A_CREATE,
    address: OF_A_CREATE,
  },
};

/** LIMITS: what checking a call against its tenant's limits adds to it, with a Redis on loopback and the connection that delivery has. */
export async function runLimits({ settings, quick, signal, say }: RunContext): Promise<LimitsResult> {
  const calls = quick ? 2_000 : 20_000;
  await using redis = await startBenchRedis(settings.redis);
  const fail = (error: unknown) => {
    throw error;
  };
  const node = {
    redisUrl: redis.url,
    kind: "delivery" as const,
    process: "bench",
    timeoutMs: 10_000,
    onAway: fail,
    onBack: () => {},
  };
  await using opened = await openShared(node);
  using stack = new DisposableStack();
  const client = stack.adopt(createClient({ url: redis.url }), (each) => each.destroy());
  await client.connect();
  const scriptsRun = async () =>
    Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await client.info("commandstats"))?.[1] ?? 0);
  const rows: LimitsRow[] = [];
  for (const [scopes, limits] of Object.entries(LIMITS)) {
    say(`LIMITS ${scopes}`);
    const check = () => timeOneCheck(opened.counters, limits);
    for (let call = 0; call < WARM_UP_CALLS; call++) await check();
    signal.throwIfAborted();
    const before = await scriptsRun();
    const alone: number[] = [];
    for (let call = 0; call < calls; call++) alone.push(await check());
    signal.throwIfAborted();
    const together: number[] = [];
    const caller = async () => {
      for (let call = 0; call < calls / AT_ONCE; call++) together.push(await check());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, caller));
    rows.push({
      scopes,
      checks: toLimitChecks(limits, SUBJECT, useOf("any")).length,
      alone: summarize(alone),
      together: summarize(together),
      roundTrips: ((await scriptsRun()) - before) / (alone.length + together.length),
    });
  }
  return { scenario: "LIMITS", calls, atOnce: AT_ONCE, rows };
}

const SUBJECT = { tenant: "acme", keyId: "key_1", endUser: "ann", address: "192.0.2.1" };
const useOf = (generation: string) => ({ requests: 1, tokens: 100, generation });

/** Milliseconds, with the list of checks made anew as for each call. What it holds is given back, unmeasured. */
async function timeOneCheck(counters: Counters, limits: TenantLimits): Promise<number> {
  const startedAt = performance.now();
  const checks = toLimitChecks(limits, SUBJECT, useOf(randomUUID()));
  const { refused } = await counters.take(checks);
  const took = performance.now() - startedAt;
  await counters.release(checks.filter((check) => check.kind === "lease"));
  if (refused) throw new Error(`${refused.check.name} refused a check.`);
  return took;
}
