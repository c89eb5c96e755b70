import { randomUUID } from "node:crypto";
import { parseGenerationId, parseTenantId, unixNow } from "@reprise/protocol";
import {
  generateSigningKey,
  importPrivateKey,
  mintStreamToken,
  type PrivateKey,
  toPublicKey,
} from "@reprise/tenancy";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  append,
  authorization,
  call,
  createGeneration,
  KEYS,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";

const LIVE = { liveTenants: true };
const KEYS_PATH = "/v1/admin/tenants/acme/signing-keys";

const api =
  ({ node }: Pick<Platform, "node">, key: string = KEYS.acmeAdmin) =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(`${node.url}${KEYS_PATH}${path}`, { method, key, headers, ...(body !== undefined && { body }) });

/** Two nodes, a generation that has started, and tokens for it that a key of the tenant signs. */
async function openSigned() {
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(await openPlatform(LIVE));
  const other = await platform.addNode(LIVE);
  const { path, generation, worker } = await createGeneration(platform);
  await append(worker, started());
  const urls = [platform.node.url, other.url];
  const mint = async (pair: PrivateKey, keyId: string) => {
    const { token } = await mintStreamToken({
      key: { keyId, privateKey: await importPrivateKey(pair) },
      audience: "reprise",
      tenant: parseTenantId("acme"),
      scopes: ["read"],
      generation: parseGenerationId(generation.id),
      ttlSeconds: 600,
      tokenId: randomUUID(),
      nowMs: unixNow(),
    });
    return token;
  };
  const statuses = (key: string) =>
    Promise.all(urls.map(async (url) => (await call(`${url}${path}`, { key })).status));
  const attach = (key: string) =>
    Promise.all(
      urls.map(async (url) => {
        const reader = await openSseReader(`${url}${path}/events`, { headers: authorization(key) });
        expect((await reader.nextFrame())?.id).toBe("1-1");
        return reader;
      }),
    );
  const synced = () => other.tenants!.directory.sync();
  const owned = stack.move();
  return {
    platform,
    mint,
    statuses,
    attach,
    synced,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const REFUSED = { event: "error", data: expect.stringContaining('"code":"unauthenticated"') };

describe("signing keys", () => {
  test("are registered, listed, shown and removed, with ETags, and recorded with their id", async () => {
    await using platform = await openPlatform(LIVE);
    const admin = api(platform);
    const public_jwk = toPublicKey(await generateSigningKey());
    const made = await admin("POST", "", { kid: "k1", public_jwk: { ...public_jwk, use: "sig" } });
    const view = { object: "signing_key", kid: "k1", public_jwk, created_at: expect.any(String) };
    expect(made).toMatchObject({ status: 201, json: view });
    expect(made.headers.get("location")).toBe(`${KEYS_PATH}/k1`);
    expect((await admin("GET", "")).json).toEqual({ object: "list", data: [view] });
    const shown = await admin("GET", "/k1");
    expect(shown.json).toEqual(view);
    const match = { "if-match": made.headers.get("etag")! };
    expect(shown.headers.get("etag")).toBe(match["if-match"]);
    expect((await admin("POST", "", { kid: "k2", public_jwk }, match)).status).toBe(201);
    expect((await admin("DELETE", "/k1", undefined, match)).status).toBe(412);
    expect((await admin("DELETE", "/k1")).status).toBe(204);
    expect(await admin("DELETE", "/k1")).toMatchObject({
      status: 404,
      json: { error: { code: "key_not_found" } },
    });
    const { json } = await call(`${platform.node.url}/v1/admin/tenants/acme`, { key: KEYS.acmeAdmin });
    expect(json).toMatchObject({ signing_keys: [{ kid: "k2" }] });
  });

  test.each([
    ["reprise-k1", {}],
    ["a b", {}],
    ["k1", { d: "x".repeat(43) }],
    ["k1", { crv: "X25519" }],
    ["k1", { x: "AA" }],
    ["k1", { alg: "RS256" }],
  ])("refuse the id %s with %j", async (kid, change) => {
    await using platform = await openPlatform(LIVE);
    const jwk = { ...toPublicKey(await generateSigningKey()), ...change };
    const answer = await api(platform)("POST", "", { kid, public_jwk: jwk });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain("x".repeat(43));
    expect((await api(platform)("GET", "")).json).toMatchObject({ data: [] });
  });

  test("count on both nodes together; one that is removed takes its tokens and their streams along, and no others", async () => {
    await using world = await openSigned();
    const admin = api(world.platform);
    const [one, two] = [await generateSigningKey(), await generateSigningKey()];
    await admin("POST", "", { kid: "k1", public_jwk: toPublicKey(one) });
    await admin("POST", "", { kid: "k2", public_jwk: toPublicKey(two) });
    await world.synced();
    const [first, second] = [await world.mint(one, "k1"), await world.mint(two, "k2")];
    expect([await world.statuses(first), await world.statuses(second)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    const refused = await world.attach(first);
    const kept = await world.attach(second);
    await admin("DELETE", "/k1");
    for (const reader of refused) {
      expect(await reader.ended).toBe("broken");
      expect(reader.frames.at(-1)).toMatchObject(REFUSED);
    }
    await world.synced();
    expect([await world.statuses(first), await world.statuses(second)]).toEqual([
      [401, 401],
      [200, 200],
    ]);
    for (const reader of kept) expect(reader.frames).toHaveLength(1);
    // The id alone is not the key.
    await admin("POST", "", { kid: "k1", public_jwk: toPublicKey(two) });
    await world.synced();
    expect(await world.statuses(first)).toEqual([401, 401]);
  });

  test("that are rotated count side by side until the old one's overlap ends, which breaks its streams off", async () => {
    await using world = await openSigned();
    const admin = api(world.platform);
    const [one, two] = [await generateSigningKey(), await generateSigningKey()];
    await admin("POST", "", { kid: "k1", public_jwk: toPublicKey(one) });
    await world.synced();
    const first = await world.mint(one, "k1");
    const refused = await world.attach(first);
    const rotation = { kid: "k2", public_jwk: toPublicKey(two), overlap_seconds: 600 };
    expect((await admin("POST", "/k1/rotate", rotation)).status).toBe(201);
    await world.synced();
    const second = await world.mint(two, "k2");
    expect([await world.statuses(first), await world.statuses(second)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    const again = { ...rotation, kid: "k3", overlap_seconds: 300 };
    expect((await admin("POST", "/k1/rotate", again)).status).toBe(201);
    const { json } = await admin("GET", "/k1");
    const endsAtMs = Date.parse((json as { expires_at: string }).expires_at);
    await world.synced();
    expect(await world.statuses(first)).toEqual([200, 200]);
    vi.useFakeTimers({ toFake: ["Date"], now: endsAtMs });
    onTestFinished(() => void vi.useRealTimers());
    for (const reader of refused) {
      await reader.ended;
      expect(reader.frames.at(-1)).toMatchObject(REFUSED);
      expect(reader.frames).toHaveLength(2);
    }
    expect([await world.statuses(first), await world.statuses(second)]).toEqual([
      [401, 401],
      [200, 200],
    ]);
  });

  test("that are replaced under their id while a node does not hear of it break off the streams of the old one", async () => {
    await using world = await openSigned();
    const [one, two] = [await generateSigningKey(), await generateSigningKey()];
    await api(world.platform)("POST", "", { kid: "k1", public_jwk: toPublicKey(one) });
    await world.synced();
    const refused = await world.attach(await world.mint(one, "k1"));
    await world.platform.node.tenants!.store.update(parseTenantId("acme"), (present) => ({
      ...present,
      signing_keys: [{ kid: "k1", public_jwk: toPublicKey(two) }],
    }));
    for (const reader of refused) {
      await reader.ended;
      expect(reader.frames.at(-1)).toMatchObject(REFUSED);
    }
  });
});
