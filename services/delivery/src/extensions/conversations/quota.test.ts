import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, KEYS, type Node, openPlatform, type Platform } from "../../testing/platform.ts";
import { openConversation } from "../../testing/conversations.ts";

const key = "rk_few_0123456789abcdef";
const MOST = 3;
const moreTenants = [
  {
    id: "few",
    keys: [{ secret: key, roles: ["create", "read", "erase"] }],
    conversations: { max: MOST, ttl_days: 2 },
  },
];

let platform: Platform;
let nodes: readonly Node[];

beforeAll(async () => {
  platform = await openPlatform({ moreTenants });
  nodes = [platform.node, await platform.addNode({ moreTenants })];
});
afterAll(() => platform[Symbol.asyncDispose]());

const urlOf = (i: number) => `${nodes[i % nodes.length]!.url}/v1/conversations`;
const create = (i: number, idempotencyKey?: string, body: object = {}) =>
  call(urlOf(i), {
    key,
    body,
    ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
  });
const full = { status: 429, json: { error: { code: "limit_exceeded", param: "conversations.max" } } };

test("two nodes together let a tenant have no more conversations than its record says, and one more for each that is deleted", async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => create(i)));
  const created = answers.filter(({ status }) => status === 201);
  expect(created).toHaveLength(MOST);
  const refused = answers.filter(({ status }) => status !== 201);
  for (const answer of refused) expect(answer).toMatchObject(full);
  expect(Number(refused[0]!.headers.get("retry-after"))).toBeGreaterThan(0);
  // Another tenant is not concerned.
  await openConversation(platform);

  const { id } = created[0]!.json as { id: string };
  for (let i = 0; i < 2; i++)
    expect((await call(`${urlOf(i)}/${id}`, { method: "DELETE", key })).status).toBe(202);
  expect((await create(0, "again")).status).toBe(201);
  expect(await create(0)).toMatchObject(full);
  // What is there is found again, with and without room.
  expect((await create(1, "again")).status).toBe(200);
});

describe("how long a conversation is kept", () => {
  test("is what the tenant's record says, where its client does not ask, and at most", async () => {
    expect(await create(0, "again")).toMatchObject({ json: { ttl_seconds: 172_800 } });
    const longer = await create(0, undefined, { ttl_seconds: 172_801 });
    expect(longer).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request", param: "ttl_seconds" } },
    });
  });

  test("is 30 days without a record of it", async () => {
    const { json } = await call(urlOf(0), { key: KEYS.beta, body: {} });
    expect(json).toMatchObject({ ttl_seconds: 2_592_000 });
  });
});
