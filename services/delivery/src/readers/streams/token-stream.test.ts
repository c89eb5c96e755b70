import { type GenerationRef, parseTenantId, plusMs, unixNow } from "@reprise/protocol";
import {
  generateSigningKey,
  importPrivateKey,
  mintStreamToken,
  type TenantConfig,
  toPublicKey,
  TOKEN_LIMITS,
} from "@reprise/tenancy";
import { openSseReader, type SseReader } from "@reprise/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  createTestTenants,
  delta,
  KEYS,
  openPlatform,
  started,
  testTenancy,
} from "../../testing/platform.ts";

const pair = await generateSigningKey();
const signingKeys = [{ kid: "k1", public_jwk: toPublicKey(pair) }];

let minted = 0;

/** Makes a token that a node refuses after `endsInSeconds`, its leeway included. */
async function mint({ generation }: GenerationRef, { endsInSeconds = 600 } = {}): Promise<string> {
  const nowMs = plusMs(unixNow(), -600_000);
  const { token } = await mintStreamToken({
    key: { keyId: "k1", privateKey: await importPrivateKey(pair) },
    audience: "reprise",
    tenant: parseTenantId("acme"),
    scopes: ["read"],
    generation,
    ttlSeconds: 600 + endsInSeconds - TOKEN_LIMITS.clockLeewaySeconds,
    tokenId: `t${++minted}`,
    nowMs,
  });
  return token;
}

const LATER = new Date(Date.now() + 3_600_000).toISOString();

const seqsOf = ({ frames }: SseReader): number[] =>
  frames.map(({ data }) => (JSON.parse(data) as { seq: number }).seq);

async function openTokenPlatform() {
  const tenants = createTestTenants({ signingKeys });
  const platform = await openPlatform({ tenants });
  return { platform, tenants };
}

test("a stream is broken off when its token expires, and continues at its cursor with a fresh one", async () => {
  const { platform } = await openTokenPlatform();
  await using _ = platform;
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"));
  const url = `${platform.node.url}${path}/events`;
  const headers = authorization(await mint(ref));
  await using reader = await openSseReader(url, { headers });
  while (reader.frames.length < 2) await reader.nextFrame();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 601_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await reader.ended).toBe("broken");
  expect(reader.frames.map(({ event }) => event)).toEqual(["message", "message", "error"]);
  expect(reader.frames[2]!.data).toContain('"unauthenticated"');
  await append(worker, delta("b"), completed());
  const { lastEventId } = reader;
  await using next = await openSseReader(url, { headers: authorization(await mint(ref)), lastEventId });
  expect([await next.ended, ...seqsOf(next)]).toEqual(["clean", 3, 4]);
});

test("a stream is broken off at once when its token, its signing key or its API key is taken back, and others continue", async () => {
  const changes: readonly Partial<TenantConfig>[] = [
    { signingKeys, revocations: [{ kind: "token", value: "", at: LATER, until: LATER }] },
    {},
  ];
  for (const change of changes) {
    const { platform, tenants } = await openTokenPlatform();
    await using _ = platform;
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started());
    const url = `${platform.node.url}${path}/events`;
    const token = await mint(ref);
    await using reader = await openSseReader(url, { headers: authorization(token) });
    await using owner = await openSseReader(url, { headers: authorization() });
    await reader.nextFrame();
    await owner.nextFrame();
    const revocations = (change.revocations ?? []).map((one) => ({ ...one, value: `t${minted}` }));
    tenants.reload(testTenancy({ ...change, revocations }));
    expect(await reader.ended).toBe("broken");
    expect(reader.frames.at(-1)!.data).toContain('"unauthenticated"');
    expect((await call(`${platform.node.url}${path}`, { key: token })).status).toBe(401);
    await append(worker, completed());
    expect([await owner.ended, ...seqsOf(owner)]).toEqual(["clean", 1, 2]);
  }
});

test("a page that was waited for is not sent to a caller whose token was revoked meanwhile", async () => {
  const { platform, tenants } = await openTokenPlatform();
  await using _ = platform;
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started());
  const url = `${platform.node.url}${path}/events`;
  const key = await mint(ref);
  const headers = { accept: "application/json" };
  const { cursor } = (await call(url, { key, headers })).json as { cursor: string };
  const waiting = call(`${url}?after=${cursor}&wait=30000`, { key, headers });
  // It is waiting once its node follows the generation and has answered a later call.
  expect((await call(url, { headers })).status).toBe(200);
  tenants.reload(testTenancy());
  await append(worker, delta("secret"));
  const { status, text } = await waiting;
  expect([status, text.includes("secret")]).toEqual([401, false]);
});

test("an API key that is taken back breaks its streams off", async () => {
  const { platform, tenants } = await openTokenPlatform();
  await using _ = platform;
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  const url = `${platform.node.url}${path}/events`;
  await using reader = await openSseReader(url, { headers: authorization() });
  await reader.nextFrame();
  const { tenants: all } = testTenancy();
  const without = all.map((tenant) => ({
    ...tenant,
    keys: tenant.keys.filter(({ holder }) => holder !== "ann"),
  }));
  tenants.reload({ tenants: without });
  expect(await reader.ended).toBe("broken");
  expect(reader.frames.at(-1)!.data).toContain('"unauthenticated"');
});

const VIA_QUERY = "an EventSource sends its token in the query";

test(`${VIA_QUERY}, beside a cursor, and no answer, header or log line holds it`, async () => {
  const { platform } = await openTokenPlatform();
  await using _ = platform;
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"), completed());
  const { url } = platform.node;
  const token = await mint(ref);
  const expired = await mint(ref, { endsInSeconds: -1 });
  await using reader = await openSseReader(`${url}${path}/events?token=${token}&after=1-1`);
  await reader.ended;
  expect([reader.status, reader.headers["referrer-policy"]]).toEqual([200, "no-referrer"]);
  await using whole = await openSseReader(`${url}${path}/events?token=${token}`);
  expect([await whole.ended, ...seqsOf(whole)]).toEqual(["clean", 1, 2, 3]);
  await using rest = await openSseReader(`${url}${path}/events?after=${whole.frames[0]!.id}&token=${token}`);
  expect([await rest.ended, ...seqsOf(rest)]).toEqual(["clean", 2, 3]);

  const others = [
    `${path}?token=${token}`,
    `${path}/events/?token=${token}`,
    `${path}/events?token=${token}&token=${token}`,
    `${path}/events?token=${token}&what=1`,
    `${path}/events?token=${expired}`,
    `${path}/events?token=${token}x`,
    `${path}/events?token=${KEYS.acme}`,
    `${path}/events?%74oken=${token}`,
    `/v1/generations/%zz/events?token=${token}`,
    `/v1/nothing?token=${token}`,
    `/nothing?token=${token}`,
  ];
  const said: string[] = [];
  for (const at of others) {
    const response = await fetch(`${url}${at}`);
    expect([at, response.status]).toEqual([at, expect.toSatisfy((status) => status >= 400 && status < 500)]);
    said.push(await response.text(), JSON.stringify([...response.headers]));
  }
  const withKey = await call(`${url}${path}?token=${token}`);
  expect([withKey.status, withKey.json]).toMatchObject([400, { error: { param: "token" } }]);
  said.push(withKey.text, JSON.stringify(reader.headers), platform.node.logged);
  for (const secret of [token, expired, KEYS.acme]) expect(said.join("\n")).not.toContain(secret);
  expect(said.join("\n")).not.toContain(token.split(".")[2]);
});

test("a token in the query can do nothing but read events, and an Authorization header counts before it", async () => {
  const { platform } = await openTokenPlatform();
  await using _ = platform;
  const { path, ref } = await createGeneration(platform);
  const { url } = platform.node;
  const token = await mint(ref);
  const json = { accept: "application/json" };
  const asPage = await fetch(`${url}${path}/events?token=${token}`, { headers: json });
  expect(asPage.status).toBe(200);
  await asPage.text();
  const wrong = await call(`${url}${path}/events?token=${token}`, { headers: json, key: "rk_acme_unknown" });
  expect(wrong.status).toBe(401);
  const foreign = await call(`${url}${path}/events?token=${token}`, { headers: json, key: KEYS.beta });
  expect(foreign.status).toBe(404);
});
