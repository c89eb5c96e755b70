import { type Generation, unixNow, parseTenantId } from "@reprise/protocol";
import { generateSigningKey, importPrivateKey, mintStreamToken, toPublicKey } from "@reprise/tenancy";
import { describe, expect, test } from "vitest";
import {
  append,
  call,
  createGeneration,
  createTestTenants,
  delta,
  KEYS,
  openPlatform,
  type Platform,
  REQUEST,
  started,
  testTenancy,
  toolCall,
} from "../testing/platform.ts";

interface Minted {
  readonly id: string;
  readonly token: string;
}

/** A token of the platform's own. */
async function mint(platform: Platform, at: string, body: object, key: string = KEYS.acme): Promise<Minted> {
  const { status, json } = await call(`${platform.node.url}${at}`, { body, key });
  expect([status, json]).toMatchObject([201, { object: "token" }]);
  return json as Minted;
}

const ABSENT = "/v1/generations/gen_0_00000000000000000000000000";
const NOT_FOUND = {
  error: { code: "generation_not_found", message: expect.any(String), param: "id", retryable: false },
};
const json = { accept: "application/json" };

/** Each call of one generation, and the scope that it needs. */
const CALLS = [
  ["read", "", { headers: json }],
  ["read", "/events", { headers: json }],
  ["tool", "/tool-results", { body: { call_id: "c1", output: 1 } }],
  ["cancel", "/cancel", { method: "POST" }],
] as const;

describe("a token of one generation", () => {
  test("permits what its scopes name, and answers for others like for none", async () => {
    await using platform = await openPlatform();
    for (const scope of ["read", "tool", "cancel"] as const) {
      const own = await createGeneration(platform);
      const other = await createGeneration(platform);
      const foreign = await createGeneration(platform, { key: KEYS.beta });
      await append(own.worker, started(), delta("Hi"), toolCall("c1"));
      const { token } = await mint(platform, `${own.path}/tokens`, { scopes: [scope], ttl_seconds: 60 });
      for (const [needs, at, options] of CALLS) {
        const answer = async (path: string) => {
          const got = await call(`${platform.node.url}${path}${at}`, { ...options, key: token });
          return [got.status, got.json];
        };
        const expected = needs === scope ? [404, NOT_FOUND] : [403, { error: { code: "forbidden" } }];
        for (const path of [other.path, foreign.path, ABSENT, "/v1/generations/x"])
          expect([scope, at, path, ...(await answer(path))]).toMatchObject([scope, at, path, ...expected]);
        expect([scope, at, ...(await answer(own.path))]).toMatchObject([
          scope,
          at,
          needs === scope ? 200 : 403,
          {},
        ]);
      }
    }
  });

  test("makes no call but those of a generation", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const scopes = ["read", "tool", "cancel"];
    const { token: key } = await mint(platform, `${path}/tokens`, { scopes });
    const { url } = platform.node;
    const calls = [
      call(`${url}/v1/generations`, { key, body: REQUEST }),
      call(`${url}${path}/tokens`, { key, body: { scopes: ["read"] } }),
      call(`${url}/v1/tokens`, { key, body: { scopes: ["read"], end_user: "u" } }),
      call(`${url}${path}/moderation`, { key }),
      call(`${url}/v1/reviews`, { key }),
      call(`${url}/v1/audit/generations`, { key }),
      call(`${url}${path}?original=true`, { key }),
    ];
    for (const { status, json: body } of await Promise.all(calls))
      expect([status, body]).toMatchObject([403, { error: { code: "forbidden" } }]);
    expect((await call(`${url}/v1/nothing`, { key })).status).toBe(404);
    expect((await call(`${url}${path}`, { key, method: "PUT" })).status).toBe(405);
  });
});

describe("a token of an end user", () => {
  const scopes = ["create", "read", "cancel", "tool"];

  test("creates generations of that user, whoever the request names, and reaches no other", async () => {
    await using platform = await openPlatform();
    const { url } = platform.node;
    const [ann, bob] = await Promise.all(
      ["ann", "bob"].map((end_user) => mint(platform, "/v1/tokens", { scopes, end_user })),
    );
    const own = await call(`${url}/v1/generations`, { key: ann!.token, body: REQUEST });
    expect([own.status, own.text.includes("ann")]).toEqual([201, false]);
    const lie = await call(`${url}/v1/generations`, {
      key: ann!.token,
      body: { ...REQUEST, end_user: "bob" },
    });
    expect([lie.status, lie.json]).toMatchObject([
      400,
      { error: { code: "invalid_request", param: "end_user" } },
    ]);

    const { path: anns } = await createGeneration(platform, { body: { ...REQUEST, end_user: "ann" } });
    const { path: tenants } = await createGeneration(platform);
    const { path: foreign } = await createGeneration(platform, { key: KEYS.beta });
    const annsOwn = `/v1/generations/${(own.json as Generation).id}`;
    const reach = async ({ token: key }: Minted, path: string) => {
      const answers = await Promise.all(
        CALLS.map(([, at, options]) => call(`${url}${path}${at}`, { ...options, key })),
      );
      return answers.map(({ json: body }) => (body as { error?: { code: string } }).error?.code);
    };
    const none = CALLS.map(() => "generation_not_found");
    for (const path of [annsOwn, anns, tenants, foreign, ABSENT])
      expect(await reach(bob!, path)).toEqual(none);
    for (const path of [tenants, foreign, ABSENT]) expect(await reach(ann!, path)).toEqual(none);
    for (const path of [annsOwn, anns]) expect(await reach(ann!, path)).not.toContain("generation_not_found");
  });

  test("has idempotency keys of its own: another user's key, and the tenant's, name other generations", async () => {
    await using platform = await openPlatform();
    const { url } = platform.node;
    const headers = { "idempotency-key": "order-7" };
    const [ann, bob] = await Promise.all(
      ["ann", "bob"].map((end_user) => mint(platform, "/v1/tokens", { scopes, end_user })),
    );
    const create = async (key: string, body: object = REQUEST) => {
      const answer = await call(`${url}/v1/generations`, { key, body, headers });
      return [answer.status, (answer.json as Generation).id] as const;
    };
    const first = await create(ann!.token);
    expect(first[0]).toBe(201);
    expect(await create(ann!.token)).toEqual([200, first[1]]);
    const others = [await create(bob!.token), await create(KEYS.acme, { ...REQUEST, end_user: "ann" })];
    expect(others.map(([status]) => status)).toEqual([201, 201]);
    expect(new Set([first[1], ...others.map(([, id]) => id)]).size).toBe(3);
  });

  test("and of one generation reaches it only where it is that user's", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform, { body: { ...REQUEST, end_user: "ann" } });
    const { token } = await mint(platform, `${path}/tokens`, { scopes: ["read"], end_user: "ann" });
    expect((await call(`${platform.node.url}${path}`, { key: token })).status).toBe(200);
    const refused = await call(`${platform.node.url}${path}/tokens`, {
      body: { scopes: ["read"], end_user: "bob" },
    });
    expect([refused.status, refused.json]).toMatchObject([400, { error: { param: "end_user" } }]);
  });
});

describe("minting", () => {
  test("is of the roles of the key, for at most an hour, and of the tenant's own generations", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const { url } = platform.node;
    const answer = async (at: string, body: unknown, key?: string) => {
      const { status, json: said } = await call(`${url}${at}`, { body, ...(key !== undefined && { key }) });
      return [status, (said as { error?: { param?: string } }).error?.param];
    };
    const one = `${path}/tokens`;
    expect(await answer(one, { scopes: ["read"] }, KEYS.acmeReader)).toEqual([201, undefined]);
    expect(await answer(one, { scopes: ["read", "cancel"] }, KEYS.acmeReader)).toEqual([
      403,
      "Authorization",
    ]);
    expect(await answer(one, { scopes: ["read"] }, KEYS.acmeAuditor)).toEqual([403, "Authorization"]);
    expect(await answer(one, { scopes: ["read"] }, KEYS.beta)).toEqual([404, "id"]);
    expect(await answer(`${ABSENT}/tokens`, { scopes: ["read"] })).toEqual([404, "id"]);
    expect(await answer(one, { scopes: ["create"] })).toEqual([400, "scopes"]);
    expect(await answer(one, { scopes: [] })).toEqual([400, "scopes"]);
    expect(await answer(one, { scopes: ["admin"] })).toEqual([400, "scopes.0"]);
    expect(await answer(one, { scopes: ["read"], ttl_seconds: 3_601 })).toEqual([400, "ttl_seconds"]);
    expect(await answer(one, { scopes: ["read"], ttl_seconds: 0 })).toEqual([400, "ttl_seconds"]);
    expect(await answer("/v1/tokens", { scopes: ["read"] })).toEqual([400, "end_user"]);
    expect(await answer("/v1/tokens", { scopes: ["read"], end_user: "a b" })).toEqual([400, "end_user"]);
    expect(await answer("/v1/tokens", { scopes: ["read"], end_user: "u", sub: "v" })).toEqual([400, "sub"]);
  });

  test("by one node is known to every other", async () => {
    await using platform = await openPlatform();
    const node = await platform.addNode();
    const { path } = await createGeneration(platform);
    const { token } = await mint(platform, `${path}/tokens`, { scopes: ["read"] });
    expect((await call(`${node.url}${path}`, { key: token })).status).toBe(200);
  });
});

describe("a tenant's own signing key", () => {
  test("signs tokens without the platform, until it is taken back; a revoked token is refused", async () => {
    const pair = await generateSigningKey();
    const signingKeys = [{ kid: "backend-1", public_jwk: toPublicKey(pair) }];
    const tenants = createTestTenants({ signingKeys });
    await using platform = await openPlatform({ tenants });
    const { path, ref } = await createGeneration(platform);
    const nowMs = unixNow();
    const { token } = await mintStreamToken({
      key: { keyId: "backend-1", privateKey: await importPrivateKey(pair) },
      audience: "reprise",
      tenant: parseTenantId("acme"),
      scopes: ["read"],
      generation: ref.generation,
      ttlSeconds: 60,
      tokenId: "t1",
      nowMs,
    });
    const answer = async () => (await call(`${platform.node.url}${path}`, { key: token })).status;
    expect(await answer()).toBe(200);
    const at = new Date(nowMs + 1_000).toISOString();
    for (const [kind, value] of [
      ["token", "t1"],
      ["generation", ref.generation],
    ] as const) {
      tenants.reload(testTenancy({ signingKeys, revocations: [{ kind, value, at, until: at }] }));
      expect([kind, await answer()]).toEqual([kind, 401]);
    }
    tenants.reload(testTenancy({ signingKeys }));
    expect(await answer()).toBe(200);
    tenants.reload(testTenancy());
    expect(await answer()).toBe(401);
  });
});
