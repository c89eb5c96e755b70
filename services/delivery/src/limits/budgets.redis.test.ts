import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir, startRedis, startTcpProxy } from "@reprise/testkit";
import { decodeEvent, isKnownEvent, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import {
  type CallOptions,
  call,
  type Node,
  openPlatform,
  type Platform,
  REQUEST,
} from "../testing/platform.ts";
import { loadModelCosts } from "./model-prices.ts";

const KEY = "rk_spender_0123456789abcdef";
const tenantWith = (budgets: unknown) => ({
  id: "spender",
  keys: [{ secret: KEY, roles: ["create", "read", "cancel"] }],
  budgets,
});

/** 200 tokens by the estimate. */
const LONG = { ...REQUEST, input: "x".repeat(800) };

const create = (url: string, options: CallOptions = {}) =>
  call(`${url}/v1/generations`, { key: KEY, body: LONG, ...options });

/** Waits until a node counts in Redis: it starts alone if Redis takes more than two seconds. */
const countsTogether = ({ opsUrl }: Node) =>
  expect.poll(async () => (await call(`${opsUrl}/metrics`)).text).toMatch(/^reprise_limits_local 0$/m);

/** Seq 0, as workers and auditors read it. */
async function readRequested({ log }: Platform, json: unknown) {
  const ref = {
    tenant: parseTenantId("spender"),
    generation: parseGenerationId((json as { id: string }).id),
  };
  const first = await log.reader.readFirst(ref);
  const event = first && decodeEvent(first.payload);
  return event && isKnownEvent(event) && event.type === "generation.requested" ? event : undefined;
}

test("a create that needs more than is left of a budget is refused, and says when to come again", async () => {
  const budgets = [{ name: "daily", unit: "tokens", limit: 300, period: "day" }];
  await using platform = await openPlatform({ moreTenants: [tenantWith(budgets)] });
  const { url } = platform.node;
  const first = await create(url);
  expect(first.status).toBe(201);
  const second = await create(url);
  expect(second.status).toBe(429);
  expect(second.json).toMatchObject({
    error: { code: "budget_exceeded", param: "daily", retryable: false },
  });
  const seconds = Number(second.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(86_400);
  const { budgets: charged } = (await readRequested(platform, first.json)) ?? {};
  expect(charged).toEqual([
    {
      name: "daily",
      limit: 300,
      period: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      ends_at: expect.any(String),
    },
  ]);
});

test("a create that joins a generation reserves nothing", async () => {
  const budgets = [{ name: "all", unit: "tokens", limit: 300, period: "total" }];
  await using platform = await openPlatform({ moreTenants: [tenantWith(budgets)] });
  const { url } = platform.node;
  const headers = { "idempotency-key": "once" };
  const answers = [await create(url, { headers }), await create(url, { headers })];
  expect(answers.map(({ status }) => status)).toEqual([201, 200]);
  const refused = await create(url);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, null]);
});

test("a refused create holds no share of the tenant's limits", async () => {
  const tenant = {
    ...tenantWith([{ name: "all", unit: "tokens", limit: 300, period: "total" }]),
    limits: { tenant: { generations: 2 } },
  };
  await using platform = await openPlatform({ moreTenants: [tenant] });
  const { url } = platform.node;
  await create(url);
  const codes: unknown[] = [];
  for (let i = 0; i < 3; i++)
    codes.push(((await create(url)).json as { error: { code: string } }).error.code);
  expect(codes).toEqual(Array.from({ length: 3 }, () => "budget_exceeded"));
});

test("two nodes share a budget; while Redis is away a node grants its share of what was left, and then says so", async () => {
  await using redis = await startRedis();
  await using way = new AsyncDisposableStack();
  const proxy = way.use(await startTcpProxy({ target: { port: redis.port } }));
  const options = {
    moreTenants: [tenantWith([{ name: "month", unit: "tokens", limit: 3_000, period: "month" }])],
    redisTimeoutMs: 60_000,
  };
  await using platform = await openPlatform({ ...options, redisUrl: redis.url });
  await using other = await platform.addNode({
    ...options,
    redisUrl: `redis://127.0.0.1:${proxy.port}`,
  });
  for (const node of [platform.node, other]) await countsTogether(node);
  for (const { url } of [platform.node, other, other]) expect((await create(url)).status).toBe(201);
  await way.disposeAsync();
  const statuses: number[] = [];
  for (let i = 0; i < 20; i++) statuses.push((await create(other.url)).status);
  // Of 3,000 tokens 2,208 are left, of which this process, one of three at most, grants 736 at least.
  const created = statuses.filter((status) => status === 201).length;
  expect(created).toBeGreaterThanOrEqual(3);
  expect(created).toBeLessThanOrEqual(5);
  const refused = await create(other.url);
  expect([refused.status, refused.json]).toMatchObject([
    503,
    { error: { code: "budget_unavailable", param: "month", retryable: true } },
  ]);
});

const IN_MONEY = { name: "eur", unit: "money", currency: "EUR", limit: "0.0005", period: "month" };
const EUR = { currency: "EUR", input: "1", output: "2" };
const MODELS = new Set(["sim"]);
const costsOf = (models: readonly string[], prices: object) =>
  new Map([["sim", { models, prices: prices as Record<string, typeof EUR> }]]);

test("a budget in money reserves what the model's tokens cost, and seq 0 has the prices", async () => {
  await using platform = await openPlatform({ moreTenants: [tenantWith([IN_MONEY])] });
  const { url, delivery } = platform.node;
  delivery.setNames({ models: MODELS, costs: costsOf(["sim"], { sim: EUR }) });
  // 200 tokens at 1, and 64 at 2, are 328 millionths.
  const first = await create(url);
  expect(first.status).toBe(201);
  const second = await create(url);
  expect([second.status, second.json]).toMatchObject([
    429,
    { error: { code: "budget_exceeded", param: "eur", message: expect.stringContaining("0.0005 EUR") } },
  ]);
  const { budgets } = (await readRequested(platform, first.json)) ?? {};
  expect(budgets).toMatchObject([
    { limit: 500_000, money: { currency: "EUR", prices: { sim: { input: "1", output: "2" } } } },
  ]);
});

test("what a model may make without showing it is reserved, as far as it is left, and less where the request wants less", async () => {
  const budgets = [{ name: "all", unit: "tokens", limit: 2_000, period: "total" }];
  await using platform = await openPlatform({ moreTenants: [tenantWith(budgets)] });
  const { url, delivery } = platform.node;
  const costs = new Map([["sim", { models: ["sim"], prices: {}, unseen: 1_100 }]]);
  delivery.setNames({ models: MODELS, costs });
  // 200 of input and 1,100; 200 and 100; of the rest, 400, the last takes all.
  const wants = [{}, { max_output_tokens: 100 }, {}, {}];
  const statuses: number[] = [];
  for (const more of wants) statuses.push((await create(url, { body: { ...LONG, ...more } })).status);
  expect(statuses).toEqual([201, 201, 201, 429]);
});

test("a models file says what is reserved of models that may think unseen, and of their fallbacks", async () => {
  await using folder = await createTempDir("models");
  const file = join(folder.path, "models.json");
  const openai = { engine: "openai", base_url: "http://127.0.0.1:1", upstream_model: "m" };
  const models = {
    sim: { engine: "sim" },
    plain: openai,
    known: { ...openai, max_output_tokens: 32_000 },
    small: { ...openai, max_output_tokens: 100, fallback: "known" },
  };
  await writeFile(file, JSON.stringify({ models }));
  const costs = await loadModelCosts(file);
  expect(Object.keys(models).map((name) => costs.get(name)?.unseen)).toEqual([0, 4_096, 32_000, 32_000]);
});

test.each([
  ["no price", costsOf(["sim"], {})],
  ["a price in another currency", costsOf(["sim"], { sim: { ...EUR, currency: "USD" } })],
  ["a fallback without a price", costsOf(["sim", "other"], { sim: EUR })],
  ["prices that this node does not know", undefined],
])("a model with %s is refused under a budget in money, and under others is not", async (_, costs) => {
  const tokens = { id: "frugal", keys: [{ secret: "rk_frugal_0123456789abcdef", roles: ["create"] }] };
  const moreTenants = [
    tenantWith([IN_MONEY]),
    { ...tokens, budgets: [{ name: "all", unit: "tokens", limit: 3_000, period: "total" }] },
  ];
  await using platform = await openPlatform({ moreTenants });
  const { url, delivery } = platform.node;
  delivery.setNames({ models: MODELS, costs });
  const refused = await create(url);
  expect([refused.status, refused.json]).toMatchObject([
    403,
    { error: { code: "budget_unpriced", param: "eur", retryable: false } },
  ]);
  expect((await create(url, { key: "rk_frugal_0123456789abcdef" })).status).toBe(201);
});

test("while Redis is gone a budget that admits does, one that refuses does not, until it is back", async () => {
  const redis = await startRedis();
  const budget = { name: "all", unit: "tokens", limit: 300, period: "total" };
  const refusing = { id: "strict", keys: [{ secret: "rk_strict_0123456789abcdef", roles: ["create"] }] };
  const moreTenants = [
    tenantWith([{ ...budget, on_redis_loss: "admit" }]),
    { ...refusing, budgets: [{ ...budget, on_redis_loss: "refuse" }] },
  ];
  await using platform = await openPlatform({ moreTenants, redisUrl: redis.url, redisTimeoutMs: 60_000 });
  await countsTogether(platform.node);
  const { url } = platform.node;
  const strictly = { key: "rk_strict_0123456789abcdef" };
  for (const options of [{}, strictly]) expect((await create(url, options)).status).toBe(201);
  expect([(await create(url)).status, (await create(url, strictly)).status]).toEqual([429, 429]);
  await redis.stop();
  for (let i = 0; i < 3; i++) expect((await create(url)).status).toBe(201);
  const refused = await create(url, strictly);
  expect([refused.status, refused.json]).toMatchObject([503, { error: { code: "budget_unavailable" } }]);
  await using _ = await startRedis({ port: redis.port });
  await expect.poll(async () => (await create(url, strictly)).status).toBe(201);
});
