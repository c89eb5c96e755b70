import { subscribe } from "node:diagnostics_channel";
import { request as httpRequest } from "node:http";
import { asSeq, reviewIdOf } from "@reprise/protocol";
import { generateSigningKey, ROLES, TOKEN_SCOPES, toPublicKey } from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import { eventually } from "@reprise/testkit";
import { afterAll, expect, test } from "vitest";
import { TABLE } from "./authorisation.fixture.ts";
import { PNG, upload } from "./testing/uploads.ts";
import { openAuditedPlatform } from "./testing/audited-platform.ts";
import {
  append,
  authorization,
  call,
  createGeneration,
  delta,
  isUnavailable,
  JSON_TYPE,
  KEYS,
  REQUEST,
  started,
  toolCall,
} from "./testing/platform.ts";

/**
 * Calls without a key: browsers' preflights, addresses that are signed (`media-route.test.ts`), and WebSockets (`sockets.test.ts`). And those that make calls
 * of this table (`rpc.test.ts`).
 */
const OPEN =
  /^(?:OPTIONS (?:\*|\/v1\/streams?\/\*)|GET \/v1\/media\/:tenant\/:id|GET \/v1\/ws|POST \/reprise\.v1\.\w+\/\w+)$/;

const routes: { method: string; url: string }[] = [];
subscribe("fastify.initialization", (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook("onRoute", ({ method, url }) => {
    for (const name of [method].flat()) routes.push({ method: name, url });
  });
});
const platform = await openAuditedPlatform({ liveTenants: true });
afterAll(() => platform[Symbol.asyncDispose]());
const { url } = platform.node;
const ADMIN = "/v1/admin/tenants";
const ABSENT = "gen_0_00000000000000000000000000";
const NO_TENANT = "nosuch";
const PUBLIC_JWK = toPublicKey(await generateSigningKey());
let made = 0;

const operator = (path: string, body: unknown) => call(`${url}${ADMIN}${path}`, { key: KEYS.operator, body });

/** A key of a tenant, with its id. */
async function makeKey(tenant: string, roles: readonly string[]): Promise<{ id: string; secret: string }> {
  const { status, json } = await operator(`/${tenant}/keys`, { name: `n${++made}`, roles });
  expect(status).toBe(201);
  return json as { id: string; secret: string };
}

const newSigningKey = () => ({ kid: `s${++made}`, public_jwk: PUBLIC_JWK });

const refusedKeys = new Map<string, Promise<string>>();

/** The same key of a tenant for all calls that are refused. */
function keyToRefuse(endpoint: string, tenant: string): Promise<string> {
  const kind = `${endpoint.includes("/signing-keys")} ${endpoint.includes(":key")} ${tenant}`;
  const key = refusedKeys.get(kind) ?? makeKeyFor(endpoint, tenant);
  refusedKeys.set(kind, key);
  return key;
}

/** The id of what a path about a tenant's key names. A tenant has few signing keys: those of earlier calls go. */
async function makeKeyFor(endpoint: string, tenant: string): Promise<string> {
  if (!endpoint.includes(":key")) return "0";
  if (!endpoint.includes("/signing-keys")) return (await makeKey(tenant, ["read"])).id;
  const path = `/${tenant}/signing-keys`;
  const { json } = await call(`${url}${ADMIN}${path}`, { key: KEYS.operator });
  for (const { kid } of (json as { data: { kid: string }[] }).data)
    await call(`${url}${ADMIN}${path}/${kid}`, { key: KEYS.operator, method: "DELETE" });
  const key = newSigningKey();
  expect((await operator(path, key)).status).toBe(201);
  return key.kid;
}

/** A blob made by a model, used for every generation here. */
const madeBlob = await (async () => {
  const { secret: key } = await makeKey("acme", ["blob"]);
  return ((await upload(url, { content: PNG, type: "image/png", key })).json as { id: string }).id;
})();

async function makeTenant(): Promise<string> {
  const id = `made${++made}`;
  expect((await operator("", { id })).status).toBe(201);
  return id;
}

/** A generation with all that a call can be about: text, a tool call, a review, a blob, and a copy in the archive. */
async function makeGeneration(key: string, end_user: string) {
  const generation = await createGeneration(platform, { key, body: { ...REQUEST, end_user } });
  await append(generation.worker, started(), delta("Hide "), delta("the b"), delta("omb "), delta("well."), {
    type: "moderation.review",
    review_id: reviewIdOf(asSeq(6)),
    from_seq: asSeq(3),
    to_seq: asSeq(4),
    rule: "weapons",
    category: "violence",
    expires_at: "2036-11-21T13:00:00.000Z",
  });
  await append(generation.worker, toolCall("c1"), { type: "output.blob", kind: "image", blob: madeBlob });
  await platform.audit.archive(generation.ref);
  return generation;
}

const minted = new Map<string, Promise<string>>();

/** A token, which calls that ask for the same one share. */
function mint(path: string, body: object): Promise<string> {
  const asked = `${path} ${JSON.stringify(body)}`;
  const token =
    minted.get(asked) ??
    call(`${url}${path}`, { body }).then(({ status, json }) => {
      expect(status).toBe(201);
      return (json as { token: string }).token;
    });
  minted.set(asked, token);
  return token;
}

interface AskOptions {
  readonly accept?: string;
  /** Where the key or token is. */
  readonly as?: "header" | "query";
}

/** The answer to a call about one id, with that id taken out. A stream is not read. A busy broker is asked again. */
function ask(...asked: Parameters<typeof askOnce>) {
  return eventually(async () => {
    const answer = await askOnce(...asked);
    if (isUnavailable(answer)) throw new Error(answer.text);
    return answer;
  });
}

async function askOnce(
  endpoint: string,
  key: string,
  [id, keyId]: readonly [string, string?],
  { accept = "application/json", as = "header" }: AskOptions = {},
) {
  const [method = "", route = ""] = endpoint.split(" ");
  const isReview = route === "/v1/reviews/:id";
  const named = isReview ? `${id}.${reviewIdOf(asSeq(6))}` : id;
  const path = route
    .replace("*", "sim")
    .replace(":id", named)
    .replace(":key", keyId ?? "0")
    .replace(":blob", madeBlob);
  const changing: Record<string, () => unknown> = {
    "POST /v1/admin/tenants": () => ({ id: `made${++made}` }),
    "POST /v1/admin/tenants/:id/keys": () => ({ name: `n${++made}`, roles: ["read"] }),
    "POST /v1/admin/tenants/:id/signing-keys": newSigningKey,
    "POST /v1/admin/tenants/:id/signing-keys/:key/rotate": newSigningKey,
  };
  const body = changing[endpoint]?.() ?? TABLE[endpoint]?.body;
  const query = as === "query" ? `?token=${key}` : "";
  const ended = new AbortController();
  const response = await fetch(url + path + query, {
    method,
    headers: {
      accept,
      ...(as === "header" && authorization(key)),
      ...(body !== undefined && JSON_TYPE),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: ended.signal,
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const text = isStream ? "" : await response.text();
  ended.abort();
  return { status: response.status, text: text.replaceAll(id, "ID"), isStream };
}

/** The scope with which an end user's token makes a call for what is that user's. */
const END_USER_SCOPES: Readonly<Record<string, string>> = {
  "POST /v1/blobs": "create",
  "GET /v1/blobs/:id": "read",
  "HEAD /v1/blobs/:id": "read",
  "POST /v1/conversations": "create",
  "GET /v1/conversations": "read",
  "GET /v1/conversations/:id": "read",
  "GET /v1/conversations/:id/items": "read",
};

/** For keys with the role `blob` alone. Own, foreign and absent blobs are in `blobs.test.ts`. */
const BLOB_ROUTES: readonly string[] = [
  "POST /v1/blobs",
  "GET /v1/blobs/:id",
  "HEAD /v1/blobs/:id",
  "DELETE /v1/blobs/:id",
];

/** Which role makes each call. Own, foreign and absent conversations are in `conversation-routes.test.ts`. */
const CONVERSATION_ROLES: Readonly<Record<string, string>> = {
  "GET /v1/conversations": "read",
  "POST /v1/conversations": "create",
  "GET /v1/conversations/:id": "read",
  "DELETE /v1/conversations/:id": "erase",
  "GET /v1/conversations/:id/items": "read",
};

/** Which roles make each call; no token does for a named stream. Own, foreign and absent streams are in `streams.test.ts`. */
const STREAM_ROLES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ["/v1/streams/*", "/v1/stream/*"].flatMap((path) => [
    [`PUT ${path}`, ["create"]],
    [`POST ${path}`, ["produce", "create"]],
    [`DELETE ${path}`, ["create"]],
    [`GET ${path}`, ["read"]],
    [`HEAD ${path}`, ["read"]],
  ]),
);

const isKnown = ({ method, url: at }: { method: string; url: string }) =>
  `${method} ${at}` in TABLE ||
  `${method} ${at}` in CONVERSATION_ROLES ||
  `${method} ${at}` in STREAM_ROLES ||
  BLOB_ROUTES.includes(`${method} ${at}`);

test("each route has an entry in the table, or refuses its method", async () => {
  expect(
    Object.keys(TABLE).filter((entry) => !routes.some((route) => `${route.method} ${route.url}` === entry)),
  ).toEqual([]);
  const others = routes.filter(
    (route) => !isKnown(route) && !OPEN.test(`${route.method} ${route.url}`) && route.method !== "CONNECT",
  );
  expect(others.length).toBeGreaterThan(100);
  for (const { method, url: at } of others) {
    const path = at
      .replace(":id", ABSENT)
      .replace(":key", "0")
      .replace(":blob", madeBlob)
      .replace(/:path\(.*/, "compact");
    const headers = { authorization: `Bearer ${at.startsWith("/v1/admin/") ? KEYS.operator : KEYS.acme}` };
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest(url + path, { method, headers, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on("error", reject).end();
    });
    expect([method, at, status]).toEqual([method, at, at.includes(":path(") ? 404 : 405]);
  }
});

const endpoints = Object.entries(TABLE);
const ofGenerations = endpoints.filter(([name]) => !name.includes(ADMIN));
const ofTenants = endpoints.filter(([name]) => name.includes(ADMIN));
const foreign = await makeGeneration(KEYS.beta, "ann");
const anns = await makeGeneration(KEYS.acme, "ann");
const bobs = await makeGeneration(KEYS.acme, "bob");
const spectated = anns.generation.id;

/** A generation of the end user `ann`: of its own for a call that may change it. */
const makeOwn = (endpoint: string, may: boolean) =>
  may && !endpoint.startsWith("GET ") ? makeGeneration(KEYS.acme, "ann") : anns;

const keys = new Map<string, string>();
for (const role of ROLES) keys.set(role, (await makeKey("acme", [role])).secret);

test.each(ofGenerations)(
  "%s: each role, and own, foreign and absent generations",
  async (endpoint, entry) => {
    const hasId = endpoint.includes(":id");
    for (const [role, key] of keys) {
      const may = entry.roles.includes(role);
      const own = (await makeOwn(endpoint, may)).generation.id;
      const [foreigns, absent, owns] = [
        await ask(endpoint, key, [foreign.generation.id]),
        await ask(endpoint, key, [ABSENT]),
        await ask(endpoint, key, [own]),
      ];
      const others = may ? (hasId ? 404 : entry.status) : 403;
      expect([role, owns.status, foreigns.status]).toEqual([role, may ? entry.status : 403, others]);
      expect(hasId ? foreigns : absent).toEqual(absent);
    }
    for (const [key, status] of [
      ["rk_unknown", 401],
      [KEYS.operator, entry.operator ? entry.status : 401],
    ] as const)
      expect((await ask(endpoint, key, [foreign.generation.id])).status).toBe(status);
  },
);

test.each(BLOB_ROUTES)("%s: each role, the operator, and tokens of each scope", async (endpoint) => {
  for (const [role, key] of keys) {
    const { status } = await ask(endpoint, key, [ABSENT]);
    expect([role, status === 401 || status === 403]).toEqual([role, role !== "blob"]);
  }
  expect((await ask(endpoint, KEYS.operator, [ABSENT])).status).toBe(401);
  for (const scope of TOKEN_SCOPES) {
    const token = await mint("/v1/tokens", { scopes: [scope], end_user: "ann" });
    const { status } = await ask(endpoint, token, [ABSENT]);
    expect([scope, status === 403]).toEqual([scope, END_USER_SCOPES[endpoint] !== scope]);
  }
  const spectator = await mint(`/v1/generations/${spectated}/tokens`, { scopes: ["read"] });
  expect((await ask(endpoint, spectator, [ABSENT])).status).toBe(403);
});

test.each(Object.entries(CONVERSATION_ROLES))(
  "%s: each role, the operator, and tokens of each scope",
  async (endpoint, wanted) => {
    const answered = endpoint.includes(":id") ? 404 : endpoint.startsWith("POST") ? 201 : 200;
    for (const [role, key] of keys) {
      const { status } = await ask(endpoint, key, [ABSENT]);
      expect([role, status]).toEqual([role, role === wanted ? answered : 403]);
    }
    expect((await ask(endpoint, KEYS.operator, [ABSENT])).status).toBe(401);
    for (const scope of TOKEN_SCOPES) {
      const token = await mint("/v1/tokens", { scopes: [scope], end_user: "ann" });
      const { status } = await ask(endpoint, token, [ABSENT]);
      expect([scope, status]).toEqual([scope, END_USER_SCOPES[endpoint] === scope ? answered : 403]);
    }
    const spectator = await mint(`/v1/generations/${spectated}/tokens`, { scopes: ["read"] });
    expect((await ask(endpoint, spectator, [ABSENT])).status).toBe(403);
  },
);

test.each(Object.entries(STREAM_ROLES))(
  "%s: each role, the operator, and tokens of each scope",
  async (endpoint, wanted) => {
    for (const [role, key] of keys) {
      const { status } = await ask(endpoint, key, [ABSENT]);
      expect([role, status === 401 || status === 403]).toEqual([role, !wanted.includes(role)]);
    }
    expect((await ask(endpoint, KEYS.operator, [ABSENT])).status).toBe(401);
    for (const scope of TOKEN_SCOPES) {
      const token = await mint("/v1/tokens", { scopes: [scope], end_user: "ann" });
      expect([scope, (await ask(endpoint, token, [ABSENT])).status]).toEqual([scope, 403]);
    }
    const spectator = await mint(`/v1/generations/${spectated}/tokens`, { scopes: ["read"] });
    expect((await ask(endpoint, spectator, [ABSENT])).status).toBe(403);
  },
);

test.each(ofGenerations)(
  "%s: each scope of a token, and what is out of its reach",
  async (endpoint, entry) => {
    const hasId = endpoint.includes(":id");
    const bounds = TOKEN_SCOPES.flatMap(
      (scope) =>
        (scope === "create"
          ? [[scope, true]]
          : [
              [scope, true],
              [scope, false],
            ]) as [string, boolean][],
    );
    for (const [scope, isOfUser] of bounds) {
      const may = entry.scopes?.includes(scope) === true;
      const own = await makeOwn(endpoint, may);
      const key = isOfUser
        ? await mint("/v1/tokens", { scopes: [scope], end_user: "ann" })
        : await mint(`${own.path}/tokens`, { scopes: [scope] });
      const absent = await ask(endpoint, key, [ABSENT]);
      for (const id of [bobs.generation.id, foreign.generation.id]) {
        const answer = await ask(endpoint, key, [id]);
        expect([scope, answer.status]).toEqual([scope, may ? (hasId ? 404 : entry.status) : 403]);
        expect(hasId ? answer : absent).toEqual(absent);
      }
      const owns = await ask(endpoint, key, [own.generation.id]);
      expect([scope, isOfUser, owns.status]).toEqual([scope, isOfUser, may ? entry.status : 403]);
    }
  },
);

test.each(ofTenants)(
  "%s: each role, the operator and tokens, and own, foreign and absent tenants",
  async (endpoint, entry) => {
    const hasId = endpoint.includes(":id");
    for (const [role, key] of keys) {
      const may = entry.roles.includes(role);
      const [owns, foreigns, absent] = [
        await ask(endpoint, key, ["acme", await (may ? makeKeyFor : keyToRefuse)(endpoint, "acme")]),
        await ask(endpoint, key, ["beta", await keyToRefuse(endpoint, "beta")]),
        await ask(endpoint, key, [NO_TENANT]),
      ];
      const others = may ? (hasId ? 404 : entry.status) : 403;
      expect([role, owns.status, foreigns.status]).toEqual([role, may ? entry.status : 403, others]);
      expect(hasId ? foreigns : absent).toEqual(absent);
    }
    const tenant = await makeTenant();
    const id = await makeKeyFor(endpoint, tenant);
    expect((await ask(endpoint, KEYS.operator, [tenant, id])).status).toBe(entry.status);
    expect((await ask(endpoint, KEYS.operator, [NO_TENANT])).status).toBe(hasId ? 404 : entry.status);
    for (const scope of TOKEN_SCOPES) {
      const token = await mint("/v1/tokens", { scopes: [scope], end_user: "ann" });
      expect((await ask(endpoint, token, ["acme"])).status).toBe(403);
    }
    expect((await ask(endpoint, "rk_unknown", ["acme"])).status).toBe(401);
  },
);

test.each(endpoints)(
  "%s: an event stream, for each role, and own, foreign and absent ids",
  async (endpoint, entry) => {
    const isOfTenant = endpoint.includes(ADMIN);
    const hasId = endpoint.includes(":id");
    const accept = "text/event-stream";
    for (const [role, key] of keys) {
      const may = (entry.stream ?? entry).roles.includes(role);
      const own = isOfTenant ? "acme" : (await makeOwn(endpoint, may)).generation.id;
      const other = isOfTenant ? "beta" : foreign.generation.id;
      const keyId = await (may ? makeKeyFor : keyToRefuse)(endpoint, "acme");
      const owns = await ask(endpoint, key, [own, keyId], { accept });
      const foreigns = await ask(endpoint, key, [other, await keyToRefuse(endpoint, "beta")], { accept });
      const absent = await ask(endpoint, key, [isOfTenant ? NO_TENANT : ABSENT], { accept });
      expect([role, owns.status, owns.isStream]).toEqual([
        role,
        may ? entry.status : 403,
        may && entry.stream !== undefined,
      ]);
      expect([role, foreigns.status]).toEqual([role, may ? (hasId ? 404 : entry.status) : 403]);
      if (hasId) expect(foreigns).toEqual(absent);
    }
  },
);

test.each([
  ["POST /v1/generations", 201],
  ["POST /v1/chat/completions", 200],
])("%s that is answered with its stream needs the roles create and read", async (endpoint, status) => {
  // Calls of the admin API have made almost as many keys of `acme` as a tenant may have.
  const { secret } = await makeKey("beta", ["create", "read"]);
  const token = await mint("/v1/tokens", { scopes: ["create", "read"], end_user: "ann" });
  for (const key of [secret, token]) {
    const answer = await ask(endpoint, key, [ABSENT], { accept: "text/event-stream" });
    expect(answer).toMatchObject({ status, isStream: true });
  }
});

const MALFORMED = [
  "x",
  "gen_0_0",
  `${ABSENT}0`,
  `${ABSENT}%00`,
  "..%2Fgenerations",
  "*",
  "%3E",
  "0".repeat(300),
  "__proto__",
];

const TENANT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** A chat or thread may have any id, and is answered 204 where it is at nothing. */
const OF_THREADS = /\/(?:ai-sdk|tanstack|ag-ui)\//;

test.each(endpoints.filter(([name]) => name.includes(":id") && !OF_THREADS.test(name)))(
  "%s: malformed ids are answered like absent ones, for each role",
  async (endpoint, entry) => {
    const isOfTenant = endpoint.includes(ADMIN);
    // The form of a tenant's id is told: it says nothing about which tenants there are.
    const others = isOfTenant ? MALFORMED.filter((id) => !TENANT_ID.test(id)) : [];
    const all: [string, string][] = [...keys];
    if (entry.operator) all.push(["operator", KEYS.operator]);
    for (const [role, key] of all) {
      const may = role === "operator" || entry.roles.includes(role);
      const absent = await ask(endpoint, key, [isOfTenant ? NO_TENANT : ABSENT]);
      expect([role, absent.status]).toEqual([role, may ? 404 : 403]);
      for (const id of MALFORMED.filter((malformed) => !others.includes(malformed)))
        expect([role, id, await ask(endpoint, key, [id])]).toEqual([role, id, absent]);
      for (const id of others)
        expect([role, id, (await ask(endpoint, key, [id])).status]).toEqual([role, id, may ? 400 : 403]);
      if (!endpoint.includes(":key")) continue;
      const absentKey = await ask(endpoint, key, ["acme", "nosuch"]);
      expect([role, absentKey.status]).toEqual([role, may ? 404 : 403]);
      for (const id of MALFORMED)
        expect([role, id, await ask(endpoint, key, ["acme", id])]).toEqual([role, id, absentKey]);
    }
  },
);

test.each(endpoints)(
  "%s: a token as query parameter, for each scope, and API keys there",
  async (endpoint, entry) => {
    const own = await makeOwn(endpoint, entry.queryToken === true);
    const id = endpoint.includes(ADMIN) ? "acme" : own.generation.id;
    for (const scope of TOKEN_SCOPES) {
      const token = await mint("/v1/tokens", { scopes: [scope], end_user: "ann" });
      const may = entry.scopes?.includes(scope) === true;
      const expected = entry.queryToken ? (may ? entry.status : 403) : 401;
      expect([scope, (await ask(endpoint, token, [id], { as: "query" })).status]).toEqual([scope, expected]);
    }
    for (const key of [...keys.values(), KEYS.acme, KEYS.operator])
      expect((await ask(endpoint, key, [id], { as: "query" })).status).toBe(401);
  },
);

test("no refused call has changed a generation", async () => {
  for (const { ref } of [foreign, anns, bobs])
    expect((await platform.log.reader.readLog(ref)).events.length).toBe(9);
});
