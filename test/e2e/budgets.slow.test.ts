import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { type BudgetCharge, isTerminal, type KnownEvent, parseTenantId } from "@reprise/protocol";
import { accountsOf, meterOf, openShared } from "@reprise/tenancy";
import { createTempDir, startRedis } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";

const LIMIT = 1_000;
/** What is checkpointed at a time, and granted. */
const SLICE = 64;
const GENERATIONS = 8;
const isEnd = ({ type }: KnownEvent) => isTerminal(type);

const IN_TOKENS = { name: "month", unit: "tokens", limit: LIMIT, period: "month" };
const PRICE = { currency: "EUR", input: "0.5", output: "1.7" };
/** What 2,000 tokens of output cost; a slice is 64 of them. */
const IN_MONEY = { name: "spend", unit: "money", currency: "EUR", limit: "0.0034", period: "month" };
const OPERATOR_KEY = "ro_0123456789abcdef01234567";
const PICO_PER_NANO = 1_000;
const NANO_PER_TOKEN = 1_700_000 / PICO_PER_NANO;
const SLICE_NANO = SLICE * NANO_PER_TOKEN;
/** All are created before the first one can have used the budget up. */
const AT_ONCE = { tokens_per_second: 0, first_token_ms: 15_000 };
/** "Go." */
const NANO_OF_INPUT = 500_000 / PICO_PER_NANO;
/** Of a grant that nothing renews. */
const LEASE_MS = 60_000;

/** Two delivery nodes and two workers that count over Redis, and a tenant with a budget. */
async function openPlatform(redisUrl: string, budget: object = IN_TOKENS) {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ ackWaitMs: 5_000 }));
  const dir = stack.use(await createTempDir("budgets"));
  const models = join(dir.path, "models.json");
  await writeFile(models, JSON.stringify({ models: { sim: { engine: "sim", slots: 64, price: PRICE } } }));
  const file = JSON.parse(await readFile(cluster.tenantsFile, "utf8")) as {
    tenants: { budgets?: unknown }[];
  };
  const [tenant] = file.tenants;
  if (tenant) tenant.budgets = [budget];
  await writeFile(cluster.tenantsFile, JSON.stringify(file));
  const env = { REPRISE_REDIS_URL: redisUrl, REPRISE_MODELS_FILE: models };
  const operator = { REPRISE_OPERATOR_KEY_SHA256: createHash("sha256").update(OPERATOR_KEY).digest("hex") };
  const [one, other, worker, second] = await Promise.all([
    cluster.startDelivery({ ...env, ...operator }),
    cluster.startDelivery({ ...env, ...operator }),
    cluster.startWorker(env),
    cluster.startWorker(env),
  ]);
  const toRequest = (options: object, input = "Go.") => ({
    model: "sim",
    input,
    options: { tokens: 100_000, ...options },
  });
  const create = (i: number, options: object, input = "Go.") =>
    fetch(`${(i % 2 === 0 ? one : other).url}/v1/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${cluster.keys["acme"]}`, "content-type": "application/json" },
      body: JSON.stringify(toRequest(options, input)),
    });
  const clients = [one, other].map(({ url }) => createClient({ url, apiKey: cluster.keys["acme"]! }));
  /** By a client that sends again what a busy node, or one that waits for a busy Redis, has refused for now. */
  const createAll = (options: object, count = GENERATIONS) =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const { id } = await clients[i % 2]!.generations.create(toRequest(options));
        return id;
      }),
    );
  const kept = stack.move();
  return {
    cluster,
    workers: [worker, second],
    env: { ...env, ...operator },
    processes: [one, other, worker, second],
    worker,
    create,
    createAll,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
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
  const ids = await platform.createAll(AT_ONCE);
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
  const isUnderWay = (log: readonly KnownEvent[]) => log.length > 3 || log.some(isEnd);
  await Promise.all(ids.map((id) => cluster.untilLog("acme", id, isUnderWay)));
  await redis.stop();
  const { length } = await cluster.readLog("acme", ids[0] ?? "");
  await cluster.untilLog("acme", ids[0] ?? "", (log) => log.length > length + 3 || log.some(isEnd));
  await using _ = await startRedis({ port: redis.port });
  const { used, codes } = await readEnds(cluster, ids);
  expect(codes).toEqual(new Set(["budget_exceeded"]));
  expect(used).toBeLessThanOrEqual(LIMIT + GENERATIONS * SLICE);
});

/** What the logs say that generations have used of their budget, in its units, each by itself as a ledger has it. */
async function readUses(cluster: Cluster, ids: readonly string[]) {
  const logs = await Promise.all(ids.map((id) => cluster.untilLog("acme", id, (log) => log.some(isEnd))));
  let charge: BudgetCharge | undefined;
  const uses = logs.map((log) => {
    const [requested, end] = [log[0], log.find(isEnd)];
    if (requested?.type !== "generation.requested" || !requested.budgets?.[0]) throw new Error("no budget");
    if (end?.type !== "generation.failed" && end?.type !== "generation.completed") throw new Error("no end");
    [charge] = requested.budgets;
    const { input_tokens: input, output_tokens: output } = end.usage;
    return meterOf(requested.budgets[0], "sim").unitsOf({ input: input ?? 0, cachedInput: 0, output });
  });
  if (!charge) throw new Error("There is no generation.");
  return { charge, used: uses.reduce((sum, units) => sum + units, 0) };
}

/** What Redis has used and granted of a budget together. */
async function openProbe(redisUrl: string, charge: BudgetCharge, aheadMs = 0) {
  const shared = await openShared({
    redisUrl,
    kind: "worker",
    process: `probe-${aheadMs}`,
    now: () => Date.now() + aheadMs,
    onAway: () => {},
    onBack: () => {},
  });
  const wide = 1e15;
  const [account] = accountsOf(parseTenantId("acme"), [{ ...charge, limit: wide }]);
  if (!account) throw new Error("There is no account.");
  return {
    async read() {
      const [grant] = await shared.ledger.claim("probe", [{ account, used: 0, want: 0 }]);
      return grant?.isAlone ? undefined : wide - (grant?.remaining ?? 0);
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

test("many generations at once on one budget in money stay within it, and Redis has what the logs say to a billionth", async () => {
  await using redis = await startRedis();
  await using platform = await openPlatform(redis.url, IN_MONEY);
  const ids = await platform.createAll(AT_ONCE, 24);
  const { used, charge } = await readUses(platform.cluster, ids);
  expect(used).toBeLessThanOrEqual(3_400_000);
  expect(used).toBeGreaterThan(3_400_000 - SLICE_NANO);
  await using probe = await openProbe(redis.url, charge);
  await expect.poll(() => probe.read()).toBe(used);
  // What is left may be enough for a short one.
  const refused = await platform.create(0, {}, "x".repeat(SLICE * 16));
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: "budget_exceeded" } }]);
});

test("a worker that is killed in mid-stream leaves nothing granted, and what its generations have said is paid for once", async () => {
  await using redis = await startRedis();
  await using platform = await openPlatform(redis.url, { ...IN_MONEY, limit: "1" });
  const { cluster, worker } = platform;
  const ids = await platform.createAll({ tokens: 400, tokens_per_second: 40 });
  const isUnderWay = (log: readonly KnownEvent[]) => log.length > 3 || log.some(isEnd);
  await Promise.all(ids.map((id) => cluster.untilLog("acme", id, isUnderWay)));
  worker.kill("SIGKILL");
  const { used, charge } = await readUses(cluster, ids);
  await using probe = await openProbe(redis.url, charge);
  await expect.poll(() => probe.read()).toBe(used);
});

test("when all workers are killed what they were granted is free a minute later, and what they have said stays paid for", async () => {
  await using redis = await startRedis();
  await using platform = await openPlatform(redis.url, { ...IN_MONEY, limit: "1" });
  const { cluster, workers } = platform;
  const ids = await platform.createAll({ tokens_per_second: 100 });
  const isUnderWay = (log: readonly KnownEvent[]) => log.length > 10;
  await Promise.all(ids.map((id) => cluster.untilLog("acme", id, isUnderWay)));
  for (const each of workers) each.kill("SIGKILL");
  await Promise.all(workers.map(({ exited }) => exited));
  const logs = await Promise.all(ids.map((id) => cluster.untilLog("acme", id, () => true)));
  let [charge, said]: [BudgetCharge | undefined, number] = [undefined, 0];
  for (const [requested, ...events] of logs) {
    if (requested?.type === "generation.requested") charge = requested.budgets?.[0];
    said += events.reduce((sum, event) => sum + (event.type === "output.delta" ? (event.tokens ?? 1) : 0), 0);
  }
  if (!charge) throw new Error("There is no budget.");
  await using now = await openProbe(redis.url, charge);
  const held = await now.read();
  await using later = await openProbe(redis.url, charge, LEASE_MS);
  const used = await later.read();
  const cost = said * NANO_PER_TOKEN;
  const input = ids.length * NANO_OF_INPUT;
  expect(used).toBeLessThan(held ?? 0);
  expect(used).toBeLessThanOrEqual(cost + input + ids.length);
  expect(used).toBeGreaterThan(cost - ids.length * SLICE_NANO);
});

test("while Redis is gone a budget that admits lets generations run on, and what they used is counted when it is back", async () => {
  const redis = await startRedis();
  await using platform = await openPlatform(redis.url, { ...IN_MONEY, on_redis_loss: "admit" });
  const { cluster } = platform;
  // More than the budget has, and so slowly that it is not used up before Redis is gone.
  const ids = await platform.createAll({ tokens: 700, tokens_per_second: 20 }, 4);
  const isUnderWay = (log: readonly KnownEvent[]) => log.length > 3 || log.some(isEnd);
  await Promise.all(ids.map((id) => cluster.untilLog("acme", id, isUnderWay)));
  await redis.stop();
  const { used, charge } = await readUses(cluster, ids);
  expect(used).toBeGreaterThan(4 * 700 * NANO_PER_TOKEN);
  await using _ = await startRedis({ port: redis.port });
  await using probe = await openProbe(`redis://127.0.0.1:${redis.port}`, charge);
  await expect.poll(() => probe.read()).toBe(used);
  const refused = await platform.create(0, {});
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: "budget_exceeded" } }]);
});

test("after Redis and all processes were started anew, a budget is told by analytics what the logs say", async () => {
  const redis = await startRedis();
  await using platform = await openPlatform(redis.url, { ...IN_MONEY, limit: "0.003" });
  const { cluster, env, processes } = platform;
  await cluster.startAnalytics({ REPRISE_MODELS_FILE: env.REPRISE_MODELS_FILE });
  const ids = await platform.createAll({ tokens: 100, tokens_per_second: 0 });
  const { used } = await readUses(cluster, ids);
  await Promise.all([redis.stop(), ...processes.map((process) => process.stop())]);
  await using _ = await startRedis({ port: redis.port });
  const delivery = await cluster.startDelivery(env);
  const seed = async () => {
    const response = await fetch(`${delivery.url}/v1/admin/tenants/acme/budgets/seed`, {
      method: "POST",
      headers: { authorization: `Bearer ${OPERATOR_KEY}` },
    });
    return ((await response.json()) as { data: { used: string }[] }).data;
  };
  const text = `0.00${used} EUR`.replace(/0+ /, " ");
  // Analytics has the last row some seconds later.
  await expect.poll(seed).toMatchObject([{ name: "spend", used: text }]);
  expect(await seed()).toMatchObject([{ used_before: text, used: text }]);
});
