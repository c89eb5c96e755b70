import { startRedis, startTcpProxy } from "@reprise/testkit";
import { decodeEvent, isKnownEvent, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type CallOptions, call, openPlatform, type Platform, REQUEST } from "../testing/platform.ts";

const KEY = "rk_spender_0123456789abcdef";
const tenantWith = (budgets: unknown) => ({
  id: "spender",
  keys: [{ secret: KEY, roles: ["create", "read", "cancel"] }],
  budgets,
});

/** Of 200 tokens, as they are estimated. */
const LONG = { ...REQUEST, input: "x".repeat(800) };

const create = (url: string, options: CallOptions = {}) =>
  call(`${url}/v1/generations`, { key: KEY, body: LONG, ...options });

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
  await using proxy = await startTcpProxy({ target: { port: redis.port } });
  const options = {
    moreTenants: [tenantWith([{ name: "month", unit: "tokens", limit: 3_000, period: "month" }])],
    redisTimeoutMs: 60_000,
  };
  await using platform = await openPlatform({ ...options, redisUrl: redis.url });
  await using other = await platform.addNode({
    ...options,
    redisUrl: `redis://127.0.0.1:${proxy.port}`,
    redisTimeoutMs: 250,
  });
  for (const { url } of [platform.node, other, other]) expect((await create(url)).status).toBe(201);
  proxy.setFaults({ toClient: { stalled: true } });
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
