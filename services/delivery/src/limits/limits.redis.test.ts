import { announceEnd } from "@reprise/stream";
import { parseGenerationId, parseTenantId } from "@reprise/protocol";
import { openSseReader, startRedis, startTcpProxy } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  append,
  authorization,
  JSON_TYPE,
  call,
  createGeneration,
  deltas,
  openPlatform,
  type Platform,
  REQUEST,
  started,
} from "../testing/platform.ts";
import { openRawConnection } from "../testing/raw-connection.ts";

const ROLES = ["create", "read", "cancel"];
const JSON_PAGE = { accept: "application/json" };
let tenants = 0;

/** A tenant that no other test counts for, with one key. */
function tenantWith(limits: unknown) {
  const id = `limited${++tenants}`;
  const key = `rk_${id}_0123456789abcdef`;
  return { key, tenant: { id, keys: [{ secret: key, roles: ROLES }], limits } };
}

const CASES = {
  requests: tenantWith({ tenant: { requests_per_minute: 10 } }),
  unread: tenantWith({ tenant: { requests_per_minute: 1 } }),
  invalid: tenantWith({ tenant: { requests_per_minute: 3 } }),
  generations: tenantWith({ tenant: { generations: 2 } }),
  idempotent: tenantWith({ tenant: { generations: 1, tokens_per_minute: 1_000 } }),
  readers: tenantWith({ key: { readers: 2 } }),
  attaches: tenantWith({ tenant: { attaches_per_minute: 2 } }),
  tokens: tenantWith({ tenant: { tokens_per_minute: 100 } }),
  replay: tenantWith({ tenant: { replay_bytes_per_minute: 300 } }),
  pageBytes: tenantWith({ tenant: { replay_bytes_per_minute: 1_500 } }),
  users: tenantWith({ end_user: { requests_per_minute: 1 } }),
  pages: tenantWith({ tenant: { requests_per_minute: 3 }, end_user: { requests_per_minute: 1 } }),
  minted: tenantWith({ key: { requests_per_minute: 1 } }),
  away: tenantWith({ tenant: { requests_per_minute: 10 } }),
  forbidden: tenantWith({ tenant: { requests_per_minute: 2 } }),
  bytes: tenantWith({ tenant: { request_bytes_per_minute: 1_000 } }),
  free: tenantWith(undefined),
} as const;

let redis: Awaited<ReturnType<typeof startRedis>>;
let platform: Platform;
let urls: readonly [string, string];
beforeAll(async () => {
  redis = await startRedis();
  const options = {
    redisUrl: redis.url,
    redisTimeoutMs: 60_000,
    moreTenants: Object.values(CASES).map(({ tenant }) => tenant),
  };
  platform = await openPlatform(options);
  const other = await platform.addNode(options);
  urls = [platform.node.url, other.url];
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await redis.stop();
});

const create = (url: string, key: string, body: unknown = REQUEST, headers = {}) =>
  call(`${url}/v1/generations`, { body, key, headers });
const idOf = ({ json }: Awaited<ReturnType<typeof create>>) => (json as { id: string }).id;
const end = (id: string, key: string, usage?: Parameters<typeof announceEnd>[2]) =>
  announceEnd(
    platform.broker.main,
    { tenant: parseTenantId(key.split("_")[1]), generation: parseGenerationId(id) },
    usage,
  );

describe("calls per minute", () => {
  test("count where the key may not make them, too", async () => {
    const { key } = CASES.forbidden;
    const review = () => call(`${urls[0]}/v1/reviews`, { key });
    const statuses = [await review(), await review(), await review()].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 429]);
  });

  test("are counted over all nodes, and a refusal names the limit and when to come again", async () => {
    const { key } = CASES.requests;
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => call(`${urls[i % 2]}/v1/generations/gen_0_aaaa`, { key })),
    );
    const refused = answers.filter(({ status }) => status === 429);
    // Two nodes that count apart refuse ten. One call comes back every six seconds.
    expect(refused.length).toBeLessThanOrEqual(20);
    expect(refused.length).toBeGreaterThan(10);
    const [first] = refused;
    expect(first?.json).toMatchObject({
      error: { code: "limit_exceeded", param: "tenant.requests_per_minute", retryable: true },
    });
    expect(Number(first?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(first?.headers.get("ratelimit-policy")).toBe('"tenant.requests_per_minute";q=10;w=60');
    expect(first?.headers.get("ratelimit")).toMatch(/^"tenant.requests_per_minute";r=0;t=[0-9]+$/);
  });

  test("include those whose body is no request", async () => {
    const { key } = CASES.invalid;
    const bodies = ["{", { model: 7 }, { model: "none", input: "x" }, REQUEST];
    const codes: number[] = [];
    for (const body of bodies) codes.push((await create(urls[0], key, body)).status);
    expect(codes).toEqual([400, 400, 404, 429]);
  });

  test("are refused before their body is read once the limit is known to be used up", async () => {
    const { key } = CASES.unread;
    const statuses = [await create(urls[0], key), await create(urls[0], key)].map(({ status }) => status);
    expect(statuses).toEqual([201, 429]);
    await using connection = await openRawConnection(urls[0]);
    const head = { host: "test", ...authorization(key), ...JSON_TYPE, "content-length": "500000" };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.send(`POST /v1/generations HTTP/1.1\r\n${lines.join("")}\r\n`);
    await connection.until('"code":"limit_exceeded"');
    expect(connection.text).toMatch(/^HTTP\/1\.1 429 /);
  });

  test("have bytes, which count over all nodes and once for each call of any kind", async () => {
    const { key } = CASES.bytes;
    const input = "x".repeat(400);
    const statuses: number[] = [];
    for (const i of [0, 1, 0])
      statuses.push((await create(urls[i] ?? "", key, { model: "sim", input })).status);
    expect(statuses).toEqual([201, 201, 429]);
    expect((await call(`${urls[0]}/v1/generations/gen_0_aaaa`, { key })).status).toBe(404);
    const larger = await create(urls[0], key, { model: "sim", input: "x".repeat(1_000) });
    expect([larger.status, larger.json]).toMatchObject([
      400,
      { error: { code: "invalid_request", param: "tenant.request_bytes_per_minute" } },
    ]);
  });

  test("of a tenant without limits are not counted", async () => {
    const answer = await create(urls[0], CASES.free.key);
    expect([answer.status, answer.headers.get("ratelimit")]).toEqual([201, null]);
  });
});

describe("generations at a time", () => {
  test("are refused beyond the limit, and granted when another one has ended", async () => {
    const { key } = CASES.generations;
    const first = await create(urls[0], key);
    expect(first.status).toBe(201);
    expect((await create(urls[1], key)).status).toBe(201);
    const third = await create(urls[1], key);
    expect(third.json).toMatchObject({ error: { code: "limit_exceeded", param: "tenant.generations" } });
    const cancelled = await call(`${urls[1]}/v1/generations/${idOf(first)}/cancel`, { method: "POST", key });
    expect(cancelled.status).toBe(200);
    await expect.poll(async () => (await create(urls[0], key)).status).toBe(201);
  });

  test("count once for one Idempotency-Key, and so do its tokens", async () => {
    const { key } = CASES.idempotent;
    const body = { ...REQUEST, max_output_tokens: 600 };
    const headers = { "idempotency-key": "once" };
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, i) => create(urls[i % 2] ?? "", key, body, headers)),
    );
    // Where two nodes reserve at once one may be refused, since both can't be granted; the generation is one.
    const ids = new Set(answers.filter(({ status }) => status < 300).map(idOf));
    expect(ids.size).toBe(1);
    // Joining gives nothing back: 400 tokens are left, or some more when time has passed.
    for (const url of urls) expect((await create(url, key, body, headers)).status).toBe(200);
    const another = { "idempotency-key": "another" };
    const large = { ...body, max_output_tokens: 900 };
    expect((await create(urls[0], key, large, another)).json).toMatchObject({
      error: { param: "tenant.tokens_per_minute" },
    });
    const small = { ...body, max_output_tokens: 1 };
    expect((await create(urls[0], key, small, another)).json).toMatchObject({
      error: { param: "tenant.generations" },
    });
  });
});

describe("tokens per minute", () => {
  test("are reserved by max_output_tokens and settled by the usage", async () => {
    const { key } = CASES.tokens;
    const body = { ...REQUEST, max_output_tokens: 90 };
    const first = await create(urls[0], key, body);
    expect(first.status).toBe(201);
    expect((await create(urls[1], key, body)).json).toMatchObject({
      error: { code: "limit_exceeded", param: "tenant.tokens_per_minute" },
    });
    end(idOf(first), key, { input_tokens: 2, output_tokens: 3 });
    const small = { ...REQUEST, max_output_tokens: 80 };
    await expect.poll(async () => (await create(urls[1], key, small)).status).toBe(201);
  });

  test("that no wait would ever grant are a wrong request", async () => {
    const answer = await create(urls[0], CASES.tokens.key, { ...REQUEST, max_output_tokens: 101 });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([400, null]);
    expect(answer.json).toMatchObject({
      error: { code: "invalid_request", param: "tenant.tokens_per_minute" },
    });
  });
});

describe("readers", () => {
  test("are refused beyond the limit over all nodes, and granted when one has left", async () => {
    const { key } = CASES.readers;
    const id = idOf(await create(urls[0], key));
    const headers = authorization(key);
    const path = `/v1/generations/${id}/events`;
    await using one = await openSseReader(`${urls[0]}${path}`, { headers });
    await using two = await openSseReader(`${urls[1]}${path}`, { headers });
    const attach = () => call(`${urls[0]}${path}`, { key, headers: { accept: "text/event-stream" } });
    expect((await attach()).json).toMatchObject({ error: { code: "limit_exceeded", param: "key.readers" } });
    expect(two.status).toBe(200);
    await one[Symbol.asyncDispose]();
    const again = await expect
      .poll(() => openSseReader(`${urls[1]}${path}`, { headers }).then(() => "attached", String))
      .toBe("attached")
      .then(() => true);
    expect(again).toBe(true);
  });

  test("that attach too often are refused", async () => {
    const { key } = CASES.attaches;
    const id = idOf(await create(urls[0], key));
    const page = () => call(`${urls[0]}/v1/generations/${id}/events?wait=1`, { key, headers: JSON_PAGE });
    expect([(await page()).status, (await page()).status]).toEqual([200, 200]);
    expect((await page()).json).toMatchObject({ error: { param: "tenant.attaches_per_minute" } });
  });

  test("pay for what they are replayed", async () => {
    const { key } = CASES.replay;
    const id = idOf(await create(urls[0], key, { ...REQUEST, input: "x" }));
    await call(`${urls[0]}/v1/generations/${id}/cancel`, {
      method: "POST",
      key,
      body: { reason: "r".repeat(200) },
    });
    const page = () => call(`${urls[0]}/v1/generations/${id}/events`, { key, headers: JSON_PAGE });
    expect((await page()).status).toBe(200);
    await expect
      .poll(async () => (await page()).json)
      .toMatchObject({ error: { param: "tenant.replay_bytes_per_minute" } });
  });
});

test("a page costs its own bytes, not those of the rest of the log, and a create that joins with its stream is refused like any reader", async () => {
  const { key } = CASES.pageBytes;
  const idempotency = { "idempotency-key": "page-bytes" };
  const { worker, generation } = await createGeneration(platform, { key, headers: idempotency });
  await append(worker, started(1), ...deltas(40));
  const page = (limit: number) =>
    call(`${urls[0]}/v1/generations/${generation.id}/events?limit=${limit}`, { key, headers: JSON_PAGE });
  for (let i = 0; i < 3; i++) expect((await page(1)).status).toBe(200);
  await expect
    .poll(async () => (await page(100)).json)
    .toMatchObject({ error: { param: "tenant.replay_bytes_per_minute" } });
  const headers = { ...idempotency, accept: "text/event-stream" };
  expect((await create(urls[0], key, REQUEST, headers)).json).toMatchObject({
    error: { param: "tenant.replay_bytes_per_minute" },
  });
  // A new one replays nothing.
  const created = await fetch(`${urls[0]}/v1/generations`, {
    method: "POST",
    headers: { ...authorization(key), ...JSON_TYPE, accept: "text/event-stream" },
    body: JSON.stringify(REQUEST),
  });
  await created.body?.cancel();
  expect(created.status).toBe(201);
});

test("an end user of a create is counted apart from others", async () => {
  const { key } = CASES.users;
  const of = (end_user: string) => create(urls[0], key, { ...REQUEST, end_user });
  expect((await of("ann")).status).toBe(201);
  expect((await of("ann")).json).toMatchObject({ error: { param: "end_user.requests_per_minute" } });
  expect((await of("bob")).status).toBe(201);
});

test("calls with a stream token do not count for the key that minted or signed it", async () => {
  const { key } = CASES.minted;
  const body = { scopes: ["read"], end_user: "ann" };
  const { json } = await call(`${urls[0]}/v1/tokens`, { key, body });
  const { token } = json as { token: string };
  const ask = (bearer: string) => call(`${urls[0]}/v1/generations/gen_0_aaaa`, { key: bearer });
  const statuses = [await ask(token), await ask(token), await ask(key)].map(({ status }) => status);
  expect(statuses).toEqual([404, 404, 429]);
});

test("calls with a stream token count for its tenant and its end user, as those with a key do", async () => {
  const { key } = CASES.pages;
  const body = { scopes: ["read"], end_user: "ann" };
  const { json } = await call(`${urls[0]}/v1/tokens`, { key, body });
  const { token } = json as { token: string };
  const ask = () => call(`${urls[0]}/v1/generations/gen_0_aaaa`, { key: token });
  expect((await ask()).status).toBe(404);
  expect((await ask()).json).toMatchObject({ error: { param: "end_user.requests_per_minute" } });
});

test("when Redis stops answering nodes continue with their share, and say so once", async () => {
  await using proxy = await startTcpProxy({ target: { port: redis.port } });
  await using node = await platform.addNode({
    redisUrl: `redis://127.0.0.1:${proxy.port}`,
    moreTenants: [CASES.away.tenant],
  });
  const { key } = CASES.away;
  const ask = () => call(`${node.url}/v1/generations/gen_0_aaaa`, { key });
  expect((await ask()).headers.get("ratelimit")).toContain("r=");
  const timesAway = () => node.logged.match(/Redis does not answer/g)?.length ?? 0;
  const metrics = async () => (await call(`${node.opsUrl}/metrics`)).text;
  await expect.poll(metrics).toMatch(/^reprise_limits_local 0$/m);
  const before = timesAway();
  proxy.setFaults({ toClient: { stalled: true } });
  const statuses = new Set<number>();
  for (let i = 0; i < 40; i++) statuses.add((await ask()).status);
  expect(statuses).toContain(429);
  await expect.poll(timesAway).toBe(before + 1);
  for (let i = 0; i < 10; i++) await ask();
  expect(timesAway()).toBe(before + 1);
  const text = await metrics();
  expect(text).toMatch(/^reprise_limits_local 1$/m);
  expect(text).toMatch(/^reprise_limits_exceeded_total\{limit="tenant.requests_per_minute"\} [1-9]/m);
});
