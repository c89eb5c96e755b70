import { readFile, writeFile } from "node:fs/promises";
import { isTerminal, type KnownEvent } from "@reprise/protocol";
import { startRedis } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";

const LIMIT = 1_000;
/** What is checkpointed at a time, and granted. */
const SLICE = 64;
const GENERATIONS = 8;
const isEnd = ({ type }: KnownEvent) => isTerminal(type);

/** Two delivery nodes and two workers that count over Redis, and a tenant with a budget. */
async function openPlatform(redisUrl: string) {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster());
  const file = JSON.parse(await readFile(cluster.tenantsFile, "utf8")) as {
    tenants: { budgets?: unknown }[];
  };
  const [tenant] = file.tenants;
  if (tenant) tenant.budgets = [{ name: "month", unit: "tokens", limit: LIMIT, period: "month" }];
  await writeFile(cluster.tenantsFile, JSON.stringify(file));
  const env = { REPRISE_REDIS_URL: redisUrl };
  const [one, other] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startDelivery(env),
    cluster.startWorker(env),
    cluster.startWorker(env),
  ]);
  const createAll = (options: object) =>
    Promise.all(
      Array.from({ length: GENERATIONS }, async (_, i) => {
        const response = await fetch(`${(i % 2 === 0 ? one : other).url}/v1/generations`, {
          method: "POST",
          headers: { authorization: `Bearer ${cluster.keys["acme"]}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "sim", input: "Go.", options: { tokens: 100_000, ...options } }),
        });
        expect(response.status).toBe(201);
        return ((await response.json()) as { id: string }).id;
      }),
    );
  const kept = stack.move();
  return { cluster, createAll, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** What the logs say was used, and how they end. */
async function readEnds(cluster: Cluster, ids: readonly string[]) {
  const logs = await Promise.all(ids.map((id) => cluster.untilLog("acme", id, (log) => log.some(isEnd))));
  const ends = logs.map((log) => log.find(isEnd));
  let used = 0;
  const codes = new Set<string>();
  for (const end of ends) {
    if (end?.type !== "generation.failed") throw new Error(`A generation ended with ${end?.type}.`);
    used += (end.usage.input_tokens ?? 0) + end.usage.output_tokens;
    codes.add(end.error.code);
  }
  return { used, codes };
}

test("generations of two nodes and two workers are cut off within one slice of their budget", async () => {
  await using redis = await startRedis();
  await using platform = await openPlatform(redis.url);
  const ids = await platform.createAll({ tokens_per_second: 0 });
  const { used, codes } = await readEnds(platform.cluster, ids);
  expect(codes).toEqual(new Set(["budget_exceeded"]));
  expect(used).toBeLessThanOrEqual(LIMIT + SLICE);
  expect(used).toBeGreaterThan(LIMIT - SLICE);
});

test("a Redis that is killed, and comes back without its data, lets a budget be overrun by a slice for each generation at most", async () => {
  const redis = await startRedis();
  await using platform = await openPlatform(redis.url);
  const { cluster } = platform;
  const ids = await platform.createAll({ tokens_per_second: 20 });
  const isUnderWay = (log: readonly KnownEvent[]) => log.length > 20;
  await Promise.all(ids.map((id) => cluster.untilLog("acme", id, isUnderWay)));
  await redis.stop();
  const isFurther = (log: readonly KnownEvent[]) => log.length > 40;
  await cluster.untilLog("acme", ids[0] ?? "", (log) => isFurther(log) || log.some(isEnd));
  await using _ = await startRedis({ port: redis.port });
  const { used, codes } = await readEnds(cluster, ids);
  expect(codes).toEqual(new Set(["budget_exceeded"]));
  expect(used).toBeLessThanOrEqual(LIMIT + GENERATIONS * SLICE);
});
