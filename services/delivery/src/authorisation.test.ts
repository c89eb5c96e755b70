import { subscribe } from "node:diagnostics_channel";
import { request as httpRequest } from "node:http";
import { asSeq, reviewIdOf } from "@reprise/protocol";
import { generateSigningKey, ROLES, TOKEN_SCOPES, toPublicKey } from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import { afterAll, expect, test } from "vitest";
import { openAuditedPlatform } from "./testing/audited-platform.ts";
import {
  append,
  call,
  createGeneration,
  delta,
  KEYS,
  REQUEST,
  started,
  toolCall,
} from "./testing/platform.ts";

interface Entry {
  /** The roles of API keys that may make the call; the operator's key makes those of `operator`. */
  readonly roles: readonly string[];
  /** The scopes of stream tokens that may make it. */
  readonly scopes?: readonly string[];
  readonly operator?: true;
  readonly status: number;
  readonly body?: unknown;
}

/** What answers each endpoint's callers. A route without an entry must answer 405. */
const TABLE: Readonly<Record<string, Entry>> = {
  "POST /v1/generations": { roles: ["create"], scopes: ["create"], status: 201, body: REQUEST },
  "GET /v1/generations/:id": { roles: ["read", "audit"], scopes: ["read"], status: 200 },
  "GET /v1/generations/:id/events": { roles: ["read", "audit"], scopes: ["read"], status: 200 },
  "POST /v1/generations/:id/cancel": { roles: ["cancel"], scopes: ["cancel"], status: 200 },
  "POST /v1/generations/:id/tool-results": {
    roles: ["tool"],
    scopes: ["tool"],
    status: 200,
    body: { call_id: "c1", output: 1 },
  },
  "GET /v1/generations/:id/moderation": { roles: ["review"], status: 200 },
  "POST /v1/generations/:id/tokens": { roles: ["read"], status: 201, body: { scopes: ["read"] } },
  "POST /v1/tokens": { roles: ["read"], status: 201, body: { scopes: ["read"], end_user: "ann" } },
  "GET /v1/reviews": { roles: ["review"], status: 200 },
  "POST /v1/reviews/:id": { roles: ["review"], status: 200, body: { decision: "approve" } },
  "GET /v1/audit/generations": { roles: ["audit"], status: 200 },
  "GET /v1/audit/generations/:id": { roles: ["audit"], status: 200 },
  "GET /v1/admin/tenants": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants": { roles: [], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id": { roles: ["admin"], operator: true, status: 200 },
  "DELETE /v1/admin/tenants/:id": { roles: [], operator: true, status: 204 },
  "GET /v1/admin/tenants/:id/policy": { roles: ["admin"], operator: true, status: 200 },
  "PUT /v1/admin/tenants/:id/policy": {
    roles: ["admin"],
    operator: true,
    status: 200,
    body: { audit: { min_days: 0 } },
  },
  "GET /v1/admin/tenants/:id/keys": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants/:id/keys": { roles: ["admin"], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id/keys/:key": { roles: ["admin"], operator: true, status: 200 },
  "DELETE /v1/admin/tenants/:id/keys/:key": { roles: ["admin"], operator: true, status: 204 },
  "POST /v1/admin/tenants/:id/keys/:key/rotate": { roles: ["admin"], operator: true, status: 201, body: {} },
  "GET /v1/admin/tenants/:id/signing-keys": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants/:id/signing-keys": { roles: ["admin"], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id/signing-keys/:key": { roles: ["admin"], operator: true, status: 200 },
  "DELETE /v1/admin/tenants/:id/signing-keys/:key": { roles: ["admin"], operator: true, status: 204 },
  "POST /v1/admin/tenants/:id/signing-keys/:key/rotate": { roles: ["admin"], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id/revocations": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants/:id/revocations": {
    roles: ["admin"],
    operator: true,
    status: 201,
    body: { kind: "token", value: "t1" },
  },
};
/** Calls without a key: browsers' preflights. */
const OPEN = /^OPTIONS \*$/;

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

async function makeTenant(): Promise<string> {
  const id = `made${++made}`;
  expect((await operator("", { id })).status).toBe(201);
  return id;
}

/** A generation with all that a call can be about: text, a tool call, a review, and a copy in the archive. */
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
  await append(generation.worker, toolCall("c1"));
  await platform.audit.archive(generation.ref);
  return generation;
}

async function mint(path: string, body: object): Promise<string> {
  const { status, json } = await call(`${url}${path}`, { body });
  expect(status).toBe(201);
  return (json as { token: string }).token;
}

/** The answer to a call about one id, with that id taken out. */
async function ask(endpoint: string, key: string, [id, keyId]: readonly [string, string?]) {
  const [method = "", route = ""] = endpoint.split(" ");
  const isReview = route === "/v1/reviews/:id";
  const named = isReview ? `${id}.${reviewIdOf(asSeq(6))}` : id;
  const path = route.replace(":id", named).replace(":key", keyId ?? "0");
  const changing: Record<string, () => unknown> = {
    "POST /v1/admin/tenants": () => ({ id: `made${++made}` }),
    "POST /v1/admin/tenants/:id/keys": () => ({ name: `n${++made}`, roles: ["read"] }),
    "POST /v1/admin/tenants/:id/signing-keys": newSigningKey,
    "POST /v1/admin/tenants/:id/signing-keys/:key/rotate": newSigningKey,
  };
  const body = changing[endpoint]?.() ?? TABLE[endpoint]?.body;
  const options = {
    method,
    key,
    headers: { accept: "application/json" },
    ...(body !== undefined && { body }),
  };
  const { status, text } = await call(url + path, options);
  return { status, text: text.replaceAll(id, "ID") };
}

const isKnown = ({ method, url: at }: { method: string; url: string }) => `${method} ${at}` in TABLE;

test("each route has an entry in the table, or refuses its method", async () => {
  expect(
    Object.keys(TABLE).filter((entry) => !routes.some((route) => `${route.method} ${route.url}` === entry)),
  ).toEqual([]);
  const others = routes.filter(
    (route) => !isKnown(route) && !OPEN.test(`${route.method} ${route.url}`) && route.method !== "CONNECT",
  );
  expect(others.length).toBeGreaterThan(100);
  for (const { method, url: at } of others) {
    const path = at.replace(":id", ABSENT).replace(":key", "0");
    const headers = { authorization: `Bearer ${at.startsWith(ADMIN) ? KEYS.operator : KEYS.acme}` };
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest(url + path, { method, headers, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on("error", reject).end();
    });
    expect([method, at, status]).toEqual([method, at, 405]);
  }
});

const endpoints = Object.entries(TABLE);
const ofGenerations = endpoints.filter(([name]) => !name.includes(ADMIN));
const ofTenants = endpoints.filter(([name]) => name.includes(ADMIN));
const foreign = await makeGeneration(KEYS.beta, "ann");
const keys = new Map<string, string>();
for (const role of ROLES) keys.set(role, (await makeKey("acme", [role])).secret);

test.each(ofGenerations)(
  "%s: each role, and own, foreign and absent generations",
  async (endpoint, entry) => {
    const hasId = endpoint.includes(":id");
    for (const [role, key] of keys) {
      const own = (await makeGeneration(KEYS.acme, "ann")).generation.id;
      const may = entry.roles.includes(role);
      const [foreigns, absent, owns] = [
        await ask(endpoint, key, [foreign.generation.id]),
        await ask(endpoint, key, [ABSENT]),
        await ask(endpoint, key, [own]),
      ];
      const others = may ? (hasId ? 404 : entry.status) : 403;
      expect([role, owns.status, foreigns.status]).toEqual([role, may ? entry.status : 403, others]);
      expect(hasId ? foreigns : absent).toEqual(absent);
    }
    for (const key of ["rk_unknown", KEYS.operator])
      expect((await ask(endpoint, key, [foreign.generation.id])).status).toBe(401);
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
      const own = await makeGeneration(KEYS.acme, "ann");
      const other = await makeGeneration(KEYS.acme, "bob");
      const key = isOfUser
        ? await mint("/v1/tokens", { scopes: [scope], end_user: "ann" })
        : await mint(`${own.path}/tokens`, { scopes: [scope] });
      const may = entry.scopes?.includes(scope) === true;
      const absent = await ask(endpoint, key, [ABSENT]);
      for (const id of [other.generation.id, foreign.generation.id]) {
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
        await ask(endpoint, key, ["acme", await makeKeyFor(endpoint, "acme")]),
        await ask(endpoint, key, ["beta", await makeKeyFor(endpoint, "beta")]),
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

test("no refused call has changed the other tenant's generation", async () => {
  const { events } = await platform.log.reader.readLog(foreign.ref);
  expect(events.length).toBe(8);
});
