import {
  decodeOpsRecord,
  OPS_STREAM,
  parseTenantId,
  STREAM_START,
  type AdministrationRecord,
} from "@reprise/protocol";
import { readStreamMessages } from "@reprise/broker";
import { describe, expect, test } from "vitest";
import { call, KEYS, openPlatform, type Platform } from "../testing/platform.ts";

const LIVE = { liveTenants: true };
const ADMIN = "/v1/admin/tenants";

function api({ node }: Pick<Platform, "node">, key: string) {
  return (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(`${node.url}${ADMIN}${path}`, { method, key, headers, ...(body !== undefined && { body }) });
}

async function recorded({ broker }: Platform): Promise<AdministrationRecord[]> {
  const request = {
    afterStreamSeq: STREAM_START,
    subject: "ops.*.administration.-",
    maxMessages: 100,
    maxBytes: 1_000_000,
  };
  const messages = await readStreamMessages(broker.reads, OPS_STREAM, request);
  return messages
    .map(({ payload }) => decodeOpsRecord(payload))
    .filter((record) => record?.kind === "administration");
}

/** The neutral element as a public key: by it anybody can sign. */
const NEUTRAL = Buffer.from(`01${"00".repeat(31)}`, "hex").toString("base64url");

interface Made {
  id: string;
  secret: string;
}
const made = (answer: { json: unknown }) => answer.json as Made;

describe("the admin API", () => {
  test("adds a tenant and keys to it, which work at once, rotates them with an overlap, and revokes them", async () => {
    await using platform = await openPlatform(LIVE);
    const operator = api(platform, KEYS.operator);
    const created = await operator("POST", "", { id: "gamma", models: ["sim"] });
    expect(created).toMatchObject({ status: 201, json: { id: "gamma", models: ["sim"], keys: [] } });
    expect(created.headers.get("location")).toBe(`${ADMIN}/gamma`);
    const answer = await operator("POST", "/gamma/keys", { name: "web", roles: ["create", "read"] });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { id, secret } = made(answer);
    expect(secret).toMatch(/^rk_gamma_[A-Za-z0-9_-]{32}$/);
    const use = async (key: string) =>
      (await call(`${platform.node.url}/v1/generations`, { key, body: { model: "sim", input: "x" } })).status;
    expect(await use(secret)).toBe(201);
    const rotated = made(await operator("POST", `/gamma/keys/${id}/rotate`, { overlap_seconds: 60 }));
    expect([await use(secret), await use(rotated.secret)]).toEqual([201, 201]);
    const list = await operator("GET", "/gamma/keys");
    expect(list.json).toMatchObject({
      data: [
        { id, name: "web", roles: ["create", "read"], expires_at: expect.any(String) },
        { id: rotated.id, name: "web-2", roles: ["create", "read"] },
      ],
    });
    expect(list.text).not.toContain(secret);
    expect(list.text).not.toContain("sha256");
    expect((await operator("DELETE", `/gamma/keys/${id}`)).status).toBe(204);
    expect((await operator("POST", `/gamma/keys/${rotated.id}/rotate`, { overlap_seconds: 0 })).status).toBe(
      201,
    );
    expect([await use(secret), await use(rotated.secret)]).toEqual([401, 401]);
    expect((await operator("DELETE", "/gamma")).status).toBe(204);
    expect((await operator("GET", "/gamma")).status).toBe(404);
    expect(await operator("POST", "", { id: "gamma" })).toMatchObject({
      status: 409,
      json: { error: { code: "tenant_removed", param: "id", retryable: false } },
    });
  });

  test("changes a policy only in the version that If-Match names, and loses no change of two administrators", async () => {
    await using platform = await openPlatform(LIVE);
    const operator = api(platform, KEYS.operator);
    const other = api({ node: await platform.addNode(LIVE) }, KEYS.operator);
    const { headers } = await operator("GET", "/beta/policy");
    const match = { "if-match": headers.get("etag")! };
    const first = await operator("PUT", "/beta/policy", { models: ["sim"] }, match);
    expect(first).toMatchObject({ status: 200, json: { models: ["sim"] } });
    expect(first.headers.get("etag")).not.toBe(match["if-match"]);
    expect(await other("PUT", "/beta/policy", {}, match)).toMatchObject({
      status: 412,
      json: { error: { code: "precondition_failed", param: "If-Match" } },
    });
    expect((await other("PUT", "/beta/policy", {}, { "if-match": "x" })).status).toBe(400);
    const names = Array.from({ length: 10 }, (_, i) => `k${i}`);
    const answers = await Promise.all(
      names.map((name, i) => (i % 2 ? other : operator)("POST", "/beta/keys", { name, roles: ["read"] })),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
    const { json } = await other("GET", "/beta/keys");
    const stored = (json as { data: { name: string }[] }).data.map(({ name }) => name);
    expect(stored).toEqual(expect.arrayContaining(names));
  });

  test("lets a tenant's administrator do the same for its own tenant alone, and not what is the operator's", async () => {
    await using platform = await openPlatform(LIVE);
    const admin = api(platform, KEYS.acmeAdmin);
    expect((await admin("GET", "")).json).toMatchObject({ data: [{ id: "acme" }], has_more: false });
    expect((await admin("GET", "/acme")).status).toBe(200);
    expect((await admin("POST", "/acme/keys", { name: "n", roles: ["read"] })).status).toBe(201);
    expect(
      (await admin("PUT", "/acme/policy", { policy: { max_attempts: 1 }, audit: { min_days: 0 } })).status,
    ).toBe(200);
    const refused = await Promise.all([
      admin("GET", "/beta"),
      admin("GET", "/nobody"),
      admin("POST", "/beta/keys", { name: "n", roles: ["admin"] }),
      admin("PUT", "/acme/policy", { audit: { min_days: 0 }, models: ["large"] }),
      admin("POST", "", { id: "delta" }),
      admin("DELETE", "/acme"),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 403, 403, 403]);
    expect(refused[0].text).toBe(refused[1].text);
  });

  test("is closed to keys without the role, and the operator's key opens nothing else", async () => {
    await using platform = await openPlatform(LIVE);
    for (const key of [KEYS.acme, KEYS.acmeAuditor])
      expect((await api(platform, key)("GET", "")).status).toBe(403);
    expect((await api(platform, "rk_unknown_0123456789")("GET", "")).status).toBe(401);
    const { node } = platform;
    expect((await call(`${node.url}/v1/generations`, { key: KEYS.operator, body: {} })).status).toBe(401);
    expect((await call(`${node.url}/v1/generations`, { key: KEYS.acmeAdmin, body: {} })).status).toBe(403);
    expect((await api(platform, KEYS.operator)("PATCH", "")).status).toBe(405);
  });

  test("records each change before and after it, with who did it and what changed, and no secret", async () => {
    await using platform = await openPlatform(LIVE);
    const operator = api(platform, KEYS.operator);
    await operator("PUT", "/acme/policy", { policy: { max_attempts: 2 }, audit: { min_days: 0 } });
    const { id, secret } = made(
      await api(platform, KEYS.acmeAdmin)("POST", "/acme/keys", { name: "n", roles: ["read"] }),
    );
    await operator("DELETE", "/acme/keys/key_0000000000000000");
    const records = await recorded(platform);
    expect(records).toMatchObject([
      { by: "operator", call: "tenant.policy", stage: "begun" },
      {
        call: "tenant.policy",
        stage: "done",
        address: "loopback",
        before: { policy: {} },
        after: { policy: { max_attempts: 2 } },
      },
      { by: "adm", call: "key.create", stage: "begun", key: id },
      { by: "adm", call: "key.create", stage: "done", after: { keys: expect.any(Array) } },
      { call: "key.revoke", stage: "begun" },
      { call: "key.revoke", stage: "failed", error: "key_not_found" },
    ]);
    expect(new Set(records.map(({ change }) => change)).size).toBe(3);
    expect(JSON.stringify(records)).not.toContain(secret);
    expect(JSON.stringify(records)).not.toMatch(/[0-9a-f]{64}/);
    expect(platform.node.logged).not.toContain(secret);
  });

  test.each([
    ["POST", "", { id: "a.b" }],
    ["POST", "", { id: "x", plan: "gold" }],
    ["POST", "/acme/keys", { name: "n", roles: ["root"] }],
    ["POST", "/acme/keys", { name: "ann", roles: ["read"] }],
    ["POST", "/acme/keys", { roles: ["read"] }],
    ["PUT", "/acme/policy", { policy: { max_attempts: 99 } }],
    ["PUT", "/acme/policy", { cors_origins: ["https://*.example"] }],
    ["POST", "", { id: "x", cors_origins: ["https://app.example", "*"] }],
    ["POST", "/acme/signing-keys", { kid: "k", public_jwk: { kty: "OKP", crv: "Ed25519", x: NEUTRAL } }],
    ["GET", "?limit=0", undefined],
    ["GET", "/a%2eb", undefined],
  ])("refuses %s %s with %j, and changes nothing", async (method, path, body) => {
    await using platform = await openPlatform(LIVE);
    expect(await api(platform, KEYS.operator)(method, path, body)).toMatchObject({ status: 400 });
  });

  test("says of a path that is not there that it is not, to the operator as well", async () => {
    await using platform = await openPlatform(LIVE);
    const answer = await api(platform, KEYS.operator)("POST", "/acme/plans", {});
    expect(answer).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
  });

  test("refuses a key beyond those that a record holds, and continues with them", async () => {
    await using platform = await openPlatform(LIVE);
    const acme = parseTenantId("acme");
    const { store } = platform.node.tenants!;
    const key = (i: number) => ({
      name: `k${i}`,
      sha256: i.toString(16).padStart(64, "0"),
      roles: ["read" as const],
      created_at: "2026-11-22T12:00:00Z",
    });
    await store.update(acme, (present) => {
      const missing = Array.from({ length: 100 - present.keys.length }, (_, i) => key(i));
      return { ...present, keys: [...present.keys, ...missing] };
    });
    const operator = api(platform, KEYS.operator);
    const refusal = {
      status: 400,
      json: { error: { code: "invalid_request", message: expect.stringContaining("100") } },
    };
    const last = "key_0000000000000000";
    expect(await operator("POST", "/acme/keys", { name: "one", roles: ["read"] })).toMatchObject(refusal);
    expect(await operator("POST", `/acme/keys/${last}/rotate`, { overlap_seconds: 60 })).toMatchObject(
      refusal,
    );
    expect((await operator("DELETE", `/acme/keys/${last}`)).status).toBe(204);
    expect((await operator("POST", "/acme/keys", { name: "one", roles: ["read"] })).status).toBe(201);
  });

  test("shows when a key was last used, on any node, and nothing for one that was not", async () => {
    await using platform = await openPlatform(LIVE);
    const operator = api(platform, KEYS.operator);
    const other = await platform.addNode(LIVE);
    expect((await call(`${other.url}/v1/generations/x`, { key: KEYS.acmeReader })).status).toBe(404);
    // A node stores what it has noted when it stops.
    await other[Symbol.asyncDispose]();
    const { json } = await operator("GET", "/acme/keys");
    const { data } = json as { data: { id: string; roles: string[]; last_used_at?: string }[] };
    const used = data.filter(({ last_used_at }) => last_used_at !== undefined);
    expect(used.map(({ roles }) => roles)).toEqual([["read"]]);
    expect((await operator("GET", `/acme/keys/${used[0]?.id}`)).json).toEqual(used[0]);
  });

  test("changes nothing where the tenants file owns the tenants, and still shows them", async () => {
    await using platform = await openPlatform({ ...LIVE, ownedTenants: true });
    const operator = api(platform, KEYS.operator);
    expect((await operator("GET", "/acme")).status).toBe(200);
    const changes = await Promise.all([
      operator("POST", "", { id: "gamma" }),
      operator("PUT", "/acme/policy", {}),
      operator("POST", "/acme/keys", { name: "n", roles: ["read"] }),
    ]);
    for (const { status, json } of changes)
      expect([status, json]).toEqual([
        409,
        { error: expect.objectContaining({ code: "tenants_read_only" }) },
      ]);
    expect(await recorded(platform)).toEqual([]);
  });
});
