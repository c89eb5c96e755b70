import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { type BudgetCharge, isTerminal, type KnownEvent, parseTenantId } from "@reprise/protocol";
import { accountsOf, meterOf, openShared } from "@reprise/tenancy";
import { createTempDir, startRedis } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";

/** Tokens that are checkpointed and granted at a time. */
const SLICE = 64;
const isEnd = ({ type }: KnownEvent) => isTerminal(type);

const PRICE = { currency: "EUR", input: "0.5", output: "1.7" };
/** The price of 2,000 output tokens. */
const IN_MONEY = { name: "spend", unit: "money", currency: "EUR", limit: "0.0034", period: "month" };
const PICO_PER_NANO = 1_000;
const NANO_PER_TOKEN = 1_700_000 / PICO_PER_NANO;
const SLICE_NANO = SLICE * NANO_PER_TOKEN;
/** Creates all of them before the first one can use the budget up. */
const AT_ONCE = { tokens_per_second: 0, first_token_ms: 15_000 };

/** Two delivery nodes and two workers that count over Redis, and a tenant with a budget. */
async function openPlatform(redisUrl: string, budget: object) {
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
  const [one, other] = await Promise.all([
    cluster.startDelivery(env),
    cluster.startDelivery(env),
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
  /** Creates with the SDK, which retries if a node or Redis is busy. */
  const createAll = (options: object, count = 8) =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const { id } = await clients[i % 2]!.generations.create(toRequest(options));
        return id;
      }),
    );
  const kept = stack.move();
  return {
    cluster,
    create,
    createAll,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Sums the usage in the logs, in the budget's units; each generation is rounded as in the ledger. */
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

/** Reads what Redis has used and granted of a budget together. */
async function openProbe(redisUrl: string, charge: BudgetCharge) {
  const shared = await openShared({
    redisUrl,
    kind: "worker",
    process: "probe",
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

test("many concurrent generations stay within one budget in money, and Redis has the exact usage of the logs", async () => {
  await using redis = await startRedis();
  await using platform = await openPlatform(redis.url, IN_MONEY);
  const ids = await platform.createAll(AT_ONCE, 24);
  const { used, charge } = await readUses(platform.cluster, ids);
  expect(used).toBeLessThanOrEqual(3_400_000);
  expect(used).toBeGreaterThan(3_400_000 - SLICE_NANO);
  await using probe = await openProbe(redis.url, charge);
  await expect.poll(() => probe.read()).toBe(used);
  // The rest of the budget may suffice for a short one.
  const refused = await platform.create(0, {}, "x".repeat(SLICE * 16));
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: "budget_exceeded" } }]);
});
