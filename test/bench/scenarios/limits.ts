import { randomUUID } from "node:crypto";
import { type Counters, openShared, type TenantLimits, toLimitChecks } from "@reprise/tenancy";
import { createClient } from "redis";
import { summarize } from "../measure/samples.ts";
import { startBenchRedis } from "../targets/bench-redis.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

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

/** LIMITS: the time of checking a call against its tenant's limits, with a Redis on loopback and delivery's own connection. */
export async function runLimits({ settings, quick, signal, say }: RunContext): Promise<ScenarioResult> {
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
  const rows: object[] = [];
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
      aloneMs: summarize(alone),
      togetherMs: summarize(together),
      roundTrips: ((await scriptsRun()) - before) / (alone.length + together.length),
    });
  }
  return { scenario: "LIMITS", what: `${calls} checks, one by one and ${AT_ONCE} at once`, rows };
}

const SUBJECT = { tenant: "acme", keyId: "key_1", endUser: "ann", address: "192.0.2.1" };
const useOf = (generation: string) => ({ requests: 1, tokens: 100, generation });

/** Times one check in milliseconds, with a new list of checks as for each call. Releases its leases, unmeasured. */
async function timeOneCheck(counters: Counters, limits: TenantLimits): Promise<number> {
  const startedAt = performance.now();
  const checks = toLimitChecks(limits, SUBJECT, useOf(randomUUID()));
  const { refused } = await counters.take(checks);
  const took = performance.now() - startedAt;
  await counters.release(checks.filter((check) => check.kind === "lease"));
  if (refused) throw new Error(`${refused.check.name} refused a check.`);
  return took;
}
