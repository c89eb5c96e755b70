import { parseGenerationId, parseTenantId, type UnixMs, plusMs, toUnixMs } from "@reprise/protocol";
import { connect } from "@nats-io/transport-node";
import { type OnStale, publishedHeaders, readStreamInfo } from "@reprise/broker";
import { PATIENCE_MS, startTestBroker } from "@reprise/testkit";
import { describe, expect, test, vi } from "vitest";
import { mintStreamToken } from "./mint-stream-token.ts";
import { openPlatformKeys, type PlatformKeys, type PlatformKeysOptions } from "./platform-keys.ts";
import { verifyStreamToken } from "./verify-stream-token.ts";

const START_MS = toUnixMs("2026-11-22T12:00:00Z");
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const PATIENTLY = { timeout: PATIENCE_MS };
const STREAM_AWAY = expect.objectContaining({ message: expect.stringContaining("KV_TOKEN_KEYS") });
const SUBJECT = "$KV.TOKEN_KEYS.platform";

async function openNodes() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const connections = stack.use(new AsyncDisposableStack());
  let nowMs = START_MS;
  const open = async (options: Partial<PlatformKeysOptions> = {}) => {
    const connection = await connect({ servers: server.url });
    connections.defer(() => connection.close());
    const onError = vi.fn<(error: unknown) => void>();
    return openPlatformKeys({ connection, replicas: 1, everyMs: 20, now: () => nowMs, onError, ...options });
  };
  const owned = stack.move();
  const pass = (ms: number) => void (nowMs = plusMs(nowMs, ms));
  const now = () => nowMs;
  return { server, open, pass, now, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function mint(keys: PlatformKeys, nowMs: UnixMs) {
  const key = await keys.signingKey();
  const { token } = await mintStreamToken({
    key,
    audience: "reprise",
    tenant: parseTenantId("acme"),
    scopes: ["read"],
    generation: parseGenerationId("gen_0_00000000000000000000000001"),
    ttlSeconds: 3_600,
    tokenId: "t1",
    nowMs,
  });
  return { keyId: key.keyId, token };
}

const verify = (keys: PlatformKeys, token: string, nowMs: UnixMs) =>
  verifyStreamToken(token, {
    audience: "reprise",
    authority: { findKey: (_, keyId) => keys.find(keyId)?.publicKey, isRevoked: () => false },
    nowMs,
  });

test("nodes that start at once on an empty bucket share one key", async () => {
  await using nodes = await openNodes();
  const all = await Promise.all(Array.from({ length: 5 }, () => nodes.open()));
  const minted = await Promise.all(all.map((keys) => mint(keys, nodes.now())));
  expect(new Set(minted.map(({ keyId }) => keyId)).size).toBe(1);
  for (const keys of all) {
    expect(await verify(keys, minted[0]!.token, nodes.now())).toMatchObject({ tenant: "acme" });
    keys.close();
  }
});

test("a key that is replaced verifies until its last token has expired, and nodes sign with the new one once all know it", async () => {
  await using nodes = await openNodes();
  const [one, other] = [await nodes.open(), await nodes.open()];
  nodes.pass(HOUR_MS);
  const before = await mint(other, nodes.now());
  await one.rotate();
  expect((await one.signingKey()).keyId).toBe(before.keyId);
  nodes.pass(MINUTE_MS);
  const after = await mint(one, nodes.now());
  expect(after.keyId).not.toBe(before.keyId);
  await expect.poll(() => other.find(after.keyId)).toBeDefined();
  expect(await verify(other, after.token, nodes.now())).toMatchObject({ keyId: after.keyId });
  expect(await verify(one, before.token, nodes.now())).toMatchObject({ keyId: before.keyId });
  nodes.pass(HOUR_MS - MINUTE_MS);
  await other.rotate();
  expect(other.find(before.keyId)).toBeDefined();
  nodes.pass(2 * MINUTE_MS);
  await other.rotate();
  expect([other.find(before.keyId), other.find(after.keyId)]).toEqual([undefined, expect.anything()]);
  one.close();
  other.close();
});

test("a node that comes later, or continues without the broker, has the key", async () => {
  await using nodes = await openNodes();
  const one = await nodes.open();
  const { token } = await mint(one, nodes.now());
  one.close();
  const later = await nodes.open();
  await nodes.server.stop();
  expect(await verify(later, token, nodes.now())).toMatchObject({ tenant: "acme" });
  expect((await mint(later, nodes.now())).token).toEqual(expect.any(String));
  later.close();
});

test("keys that a service which may not write them has had the broker copy into the bucket are refused and told", async () => {
  await using nodes = await openNodes();
  await using other = await openNodes();
  const onError = vi.fn<(error: unknown) => void>();
  const keys = await nodes.open({ onError });
  const forger = await other.open();
  const { token } = await mint(forger, nodes.now());
  const from = await connect({ servers: other.server.url });
  const to = await connect({ servers: nodes.server.url });
  const get = "$JS.API.DIRECT.GET.KV_TOKEN_KEYS.$KV.TOKEN_KEYS.platform";
  const { data, headers } = await from.request(get, "", PATIENTLY);
  // As the broker answers it, with the headers that tell where the answer is from; a forger's message expects nothing.
  headers?.delete("Nats-Expected-Last-Subject-Sequence");
  to.publish("$KV.TOKEN_KEYS.platform", data, headers ? { headers } : {});
  await expect
    .poll(() => onError.mock.calls)
    .toContainEqual([expect.objectContaining({ code: "protocol_violation" })]);
  await expect(verify(keys, token, nodes.now())).rejects.toMatchObject({ code: "unauthenticated" });
  await Promise.all([from.close(), to.close()]);
});

test("a node that can't read the bucket while it is connected says so once, and that it can again; its keys stay", async () => {
  await using nodes = await openNodes();
  const told = vi.fn<OnStale>();
  const keys = await nodes.open({ onStale: told, staleMs: 2_000 });
  const { token } = await mint(keys, nodes.now());
  const operator = await connect({ servers: nodes.server.url });
  const ask = async (what: string, request?: object) =>
    (
      await operator.request(`$JS.API.STREAM.${what}.KV_TOKEN_KEYS`, JSON.stringify(request), PATIENTLY)
    ).json<{
      config: object;
    }>();
  const { config } = await ask("INFO");
  await ask("DELETE");
  await expect.poll(() => told.mock.calls).toEqual([[expect.any(String), STREAM_AWAY]]);
  expect(await verify(keys, token, nodes.now())).toMatchObject({ tenant: "acme" });
  await ask("CREATE", config);
  await expect.poll(() => told.mock.calls.slice(1)).toEqual([[expect.any(String), undefined]]);
  await operator.close();
});

test("keys of a version that a node does not read are told once and not replaced, and the node continues with its own", async () => {
  await using nodes = await openNodes();
  const onError = vi.fn<(error: unknown) => void>();
  const keys = await nodes.open({ onError });
  const { token } = await mint(keys, nodes.now());
  const newer = await connect({ servers: nodes.server.url });
  await newer.request(SUBJECT, '{"version":2}', { ...PATIENTLY, headers: publishedHeaders() });
  const INVALID = expect.objectContaining({ code: "config_invalid" });
  await expect.poll(() => onError.mock.calls).toEqual([[INVALID]]);
  expect(await verify(keys, token, nodes.now())).toMatchObject({ tenant: "acme" });
  await expect(keys.rotate()).rejects.toMatchObject({ code: "config_invalid" });
  await expect(nodes.open()).rejects.toMatchObject({ code: "config_invalid" });
  expect(onError).toHaveBeenCalledTimes(1);
  await newer.close();
});

const ANSWERS = [
  { what: "a copy", call: "$JS.API.DIRECT.GET.OTHER", payload: '{"last_by_subj":"other"}' },
  { what: "an empty answer", call: "$JS.API.DIRECT.GET.OTHER", payload: '{"seq":999}' },
  { what: "an answer of the API", call: "$JS.API.STREAM.INFO.OTHER", payload: "" },
];

describe.each(ANSWERS)(
  "$what that a service has had the broker store in place of the keys",
  ({ call, payload }) => {
    async function forge(url: string): Promise<void> {
      const service = await connect({ servers: url });
      const other = { name: "OTHER", subjects: ["other"], storage: "memory", allow_direct: true };
      await service.request("$JS.API.STREAM.CREATE.OTHER", JSON.stringify(other), PATIENTLY);
      await service.request("other", "stored", PATIENTLY);
      service.publish(call, payload, { reply: SUBJECT });
      await expect
        .poll(async () => (await readStreamInfo(service, "KV_TOKEN_KEYS")).lastStreamSeq)
        .toBeGreaterThan(1);
      await service.close();
    }
    const REFUSED = expect.objectContaining({ code: "protocol_violation" });

    test("does not keep a node from starting: it tells of it and creates a key, which other nodes find", async () => {
      await using nodes = await openNodes();
      (await nodes.open()).close();
      await forge(nodes.server.url);
      const onError = vi.fn<(error: unknown) => void>();
      const [one, other] = [await nodes.open({ onError }), await nodes.open()];
      expect(onError.mock.calls).toEqual([[REFUSED]]);
      const { token } = await mint(one, nodes.now());
      expect(await verify(other, token, nodes.now())).toMatchObject({ tenant: "acme" });
    });

    test("is replaced by a node that runs: one that starts later has the keys from before, and they can be rotated", async () => {
      await using nodes = await openNodes();
      const onError = vi.fn<(error: unknown) => void>();
      const runs = await nodes.open({ onError, everyMs: 500 });
      const { token } = await mint(runs, nodes.now());
      await forge(nodes.server.url);
      const later = await nodes.open({ everyMs: 500 });
      expect(onError.mock.calls).toEqual([[REFUSED]]);
      expect(await verify(later, token, nodes.now())).toMatchObject({ tenant: "acme" });
      await runs.rotate();
      expect(await verify(runs, token, nodes.now())).toMatchObject({ tenant: "acme" });
    });
  },
);
