import { subscribe } from "node:diagnostics_channel";
import { Agent, METHODS, request as httpRequest } from "node:http";
import { createSeededRandom, type SeededRandom, withSeed } from "@reprise/testkit";
import type { FastifyInstance } from "fastify";
import { expect, test } from "vitest";
import { startFakeAnalytics } from "../testing/fake-analytics.ts";
import { openAuditedPlatform } from "../testing/audited-platform.ts";
import {
  append,
  call,
  createGeneration,
  delta,
  KEYS,
  REQUEST,
  started,
  toolCall,
} from "../testing/platform.ts";

const REQUESTS = 2_000;
const AT_ONCE = 8;
/** A request that takes longer hangs: the longest wait that one asks for is 50 ms. */
const HANG_MS = 300_000;
const PROMPT = "the quick brown secret";
const TENANT = "fuzzed";

/** Those that answer, and those that refuse their method. */
const routes = { answering: new Set<string>(), refusing: new Set<string>() };
subscribe("fastify.initialization", (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook("onRoute", ({ method, url, onRequest }) => {
    for (const name of [method].flat())
      if (url.startsWith("/v1/") && name !== "CONNECT")
        (onRequest === undefined ? routes.answering : routes.refusing).add(`${name} ${url}`);
  });
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface Answer {
  readonly status: number;
  /** Text received until the end, or the first part of a stream that does not end. */
  readonly text: string;
}

const agent = new Agent({ maxSockets: AT_ONCE });

function send(url: string, { method, path, headers, body }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const signal = AbortSignal.timeout(HANG_MS);
    const sent = httpRequest({ hostname, port, method, path, headers, agent, signal }, (answer) => {
      const isStream = answer.headers["content-type"]?.startsWith("text/event-stream") === true;
      let text = JSON.stringify(answer.headers);
      const done = () => resolve({ status: answer.statusCode ?? 0, text });
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (!isStream) return;
        done();
        answer.destroy();
      });
      answer.on("end", done).on("error", reject);
    });
    sent.on("error", reject).end(body);
  });
}

/** Ids made by a test, which paths and headers may name. */
interface Known {
  readonly ids: readonly string[];
  readonly keys: readonly string[];
  /** The ids of API keys. */
  readonly apiKeys: readonly string[];
}

const ODD = [
  "",
  "x",
  "%00",
  "%2e%2e",
  "%2F",
  "a.b",
  "*",
  "%3E",
  "%F0%9F%99%82",
  "%ED%A0%80",
  "%",
  "0".repeat(300),
  "__proto__",
];
const QUERY_NAMES = [
  "after",
  "wait",
  "limit",
  "original",
  "token",
  "model",
  "from",
  "metadata[a]",
  "metadata[]",
  "__proto__",
  "%",
];
const QUERY_VALUES = [
  "",
  "0",
  "1",
  "50",
  "-1",
  "1.5",
  "1-1",
  "0-0",
  "true",
  "sim",
  "2026-01-01T00:00:00Z",
  "%",
  "%00",
  "9".repeat(20),
];
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: [
    "",
    "*/*",
    "text/event-stream",
    "application/json",
    "text/html",
    ";q",
    "text/event-stream;q=0",
    ",,,",
  ],
  "content-type": [
    "application/json",
    "application/json",
    "application/json",
    "text/plain",
    "x",
    "application/json; charset=latin1",
  ],
  "if-match": ['"1"', "*", '"x"', '"9007199254740993"', ""],
  "idempotency-key": ["k", "two words", "", "k".repeat(256), "\xff"],
  "last-event-id": ["0-0", "1-1", "x", "", "1.aaaaaa-3", "\xe9"],
  "x-forwarded-for": ["192.0.2.1", "unknown", "::1, ::", "\xff", ","],
  "x-request-id": ["req_12345678", "x", "\xff", "rk_acme_0123456789abcdef"],
  traceparent: [`00-${"a".repeat(32)}-${"b".repeat(16)}-01`, "x"],
  origin: ["https://app.example", "null", "x", ""],
  expect: ["x"],
  "content-encoding": ["gzip", "identity"],
  "accept-version": ["1.x", "x"],
  upgrade: ["websocket"],
};
const CHAT = { model: "sim", messages: [{ role: "user", content: "hello" }], stream: true };
const RESPONSE = { model: "sim", input: "hello" };
const MESSAGE = { id: "m1", role: "user", parts: [{ type: "text", text: "hello" }] };
const RUN = {
  threadId: "t",
  runId: "r",
  messages: [{ id: "m1", role: "user", content: "hello" }],
  tools: [],
  context: [],
  state: {},
  forwardedProps: {},
};
/** Routes that wait for the end of what they create, unless the body says otherwise; no worker is there to end it. */
const WAITS = /\/(chat\/completions|responses)$/;
const MODERATED = { moderation: { mode: "gate", rules: [{ pattern: "(a" }] } };
const SETTINGS = [
  { policy: { max_attempts: 2 }, cors_origins: ["https://a.example"] },
  { policy: MODERATED },
  { limits: { tenant: { requests_per_minute: 1_000 } }, slots: { weight: 2 }, conversations: { max: 9 } },
];
const JWK = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
/** Bodies that a route accepts, by the end of its path. */
const BODIES: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [
    /generations$/,
    [
      REQUEST,
      { ...REQUEST, input: PROMPT, options: { a: [1] }, metadata: { a: "b" } },
      { ...REQUEST, policy: { moderation: { mode: "observe", rules: ["cards"] } } },
      { ...REQUEST, policy: MODERATED },
    ],
  ],
  [/\/chat\/completions$/, [CHAT, { ...CHAT, n: 2 }, { ...CHAT, tools: [{ type: "function" }] }]],
  [
    /\/responses$/,
    [
      { ...RESPONSE, background: true },
      { ...RESPONSE, stream: true },
    ],
  ],
  [
    /\/ai-sdk\/chat$/,
    [
      { id: "c", messages: [MESSAGE] },
      { messages: [MESSAGE], trigger: "regenerate-message" },
    ],
  ],
  [/\/(tanstack\/chat|ag-ui\/agent)$/, [RUN, { ...RUN, runId: "r2", forwardedProps: { model: "sim" } }]],
  [/cancel$/, [{}, { reason: "x" }]],
  [/interrupt$/, [{ heard: "0-0" }, { heard: "1-3" }]],
  [
    /tool-results$/,
    [
      { call_id: "c1", output: { a: 1 } },
      { call_id: "c2", output: null },
    ],
  ],
  [
    /tokens$/,
    [
      { scopes: ["read"], end_user: "ann" },
      { scopes: ["create", "read"], ttl_seconds: 1, end_user: "bob" },
    ],
  ],
  [/reviews\/:id$/, [{ decision: "approve" }, { decision: "edit", replacement: "x" }]],
  [/tenants$/, [{ id: TENANT }, ...SETTINGS.map((each, i) => ({ id: `${TENANT}${i}`, ...each }))]],
  [/policy$/, SETTINGS],
  [/\/keys$/, ["a", "b", "c"].map((name) => ({ name, roles: ["read"], expires_at: "2036-01-01T00:00Z" }))],
  [/\/keys\/:key\/rotate$/, [{}, { overlap_seconds: 1 }]],
  [/signing-keys(\/:key\/rotate)?$/, ["k1", "k2", "k3"].map((kid) => ({ kid, public_jwk: JWK }))],
  [
    /revocations$/,
    [
      { kind: "token", value: "t1" },
      { kind: "user", value: "ann" },
    ],
  ],
];
const ANY_BODIES = [...BODIES.flatMap(([, bodies]) => bodies), {}, [], null];

/** A key that may make the call. */
function keyFor(route: string): string {
  if (/^\/v1\/(admin|ops)\//.test(route)) return KEYS.operator;
  if (/^\/v1\/(analytics\/|usage$)/.test(route)) return KEYS.acmeAnalyst;
  return route.startsWith("/v1/audit/") ? KEYS.acmeReadingAuditor : KEYS.acme;
}

function requestOf(random: SeededRandom, endpoint: string, { ids, keys, apiKeys }: Known): Sent {
  const [known = "", route = ""] = endpoint.split(" ");
  const method = random.chance(0.95) ? known : random.pick(METHODS.filter((name) => name !== "CONNECT"));
  const isAdmin = route.startsWith("/v1/admin/");
  // The tenants that other requests are about stay.
  const tenant = endpoint === "DELETE /v1/admin/tenants/:id" ? `${TENANT}${random.integer(0, 2)}` : TENANT;
  const id = () => (random.chance(0.1) ? random.pick(ODD) : isAdmin ? tenant : random.pick(ids));
  const key = () => random.pick(random.chance(0.2) ? ODD : ["k1", "k2", ...apiKeys]);
  let path = route.replace(":id", id).replace(":key", key);
  if (random.chance(0.03)) path += random.pick(["/", "//", "/x", ";a", "%", "/..", "/%2e%2e/"]);
  const query = Array.from(
    { length: random.pick([0, 0, 0, 0, 0, 1, 2]) },
    () => `${random.pick(QUERY_NAMES)}=${random.pick(random.chance(0.1) ? keys : QUERY_VALUES)}`,
  );
  if (query.length > 0) path += `?${query.join("&")}`;
  const headers: Record<string, string> = { "content-type": "application/json" };
  const scheme = random.chance(0.95) ? "Bearer " : random.pick(["bearer  ", "Basic ", ""]);
  const bearer = random.chance(0.7) ? keyFor(route) : random.pick(keys);
  if (random.chance(0.95)) headers["authorization"] = scheme + bearer;
  for (const [name, values] of Object.entries(HEADERS))
    if (random.chance(name === "accept" ? 0.3 : 0.03)) headers[name] = random.pick(values);
  const isBare = method === "GET" || random.chance(0.1);
  const body = isBare ? "" : bodyOf(random, route);
  // For some methods Node's client sends a body without saying how long it is.
  if (body !== "") headers["content-length"] = `${Buffer.byteLength(body)}`;
  return { method, path, headers, body };
}

/** The JSON of a body, most often whole. */
function bodyOf(random: SeededRandom, route: string): string {
  const own = BODIES.find(([end]) => end.test(route))?.[1] ?? ANY_BODIES;
  const others = WAITS.test(route) ? own : ANY_BODIES;
  const json = JSON.stringify(random.pick(random.chance(0.8) ? own : others));
  if (random.chance(0.7)) return json;
  const at = random.integer(0, json.length);
  const piece = random.pick([
    "",
    '"',
    "{",
    "}",
    "null",
    "\0",
    "\\ud800",
    '"__proto__":1,',
    "\ufeff",
    "1e999",
  ]);
  return json.slice(0, at) + piece + json.slice(at + random.integer(0, 2));
}

test("2,000 requests for all routes get no 5xx, none hangs, and no secret is told or logged", async () => {
  await using platform = await openAuditedPlatform({ liveTenants: true, accessLog: "with-address" });
  const { node } = platform;
  await startFakeAnalytics(platform.broker, () => ({}));
  const generation = await createGeneration(platform);
  await append(generation.worker, started(), delta("text"), toolCall("c1"));
  await platform.audit.archive(generation.ref);
  const foreign = await createGeneration(platform, { key: KEYS.beta });
  const body = { scopes: ["read", "cancel", "tool"], end_user: "ann" };
  const { token } = (await call(`${node.url}/v1/tokens`, { body })).json as { token: string };
  await call(`${node.url}/v1/admin/tenants`, { key: KEYS.operator, body: { id: TENANT } });
  const { acmeAdmin: _, operator: __, ...callers } = KEYS;
  const key = { name: "first", roles: ["read"] };
  const made = await call(`${node.url}/v1/admin/tenants/${TENANT}/keys`, { key: KEYS.operator, body: key });
  const { id } = generation.generation;
  const known = {
    ids: [id, id, foreign.generation.id, `${id}.rev_3`],
    keys: [...Object.values(callers), token, token, "rk_unknown_0123456789"],
    apiKeys: [(made.json as { id: string }).id],
  };
  const answering = [...routes.answering];
  expect(answering.length).toBeGreaterThan(25);
  expect(routes.refusing.size).toBeGreaterThan(100);

  await withSeed(20_261_122, async ({ seed }) => {
    const random = createSeededRandom(seed);
    const requests = Array.from({ length: REQUESTS }, (_each, i) => {
      const other = random.chance(0.05) ? random.pick([...routes.refusing]) : undefined;
      return requestOf(random, other ?? answering[i % answering.length] ?? "", known);
    });
    const statuses = new Map<number, number>();
    const given = new Set<string>();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_each, lane) => {
        for (const sent of requests.filter((_sent, i) => i % AT_ONCE === lane)) {
          const { status, text } = await send(node.url, sent).catch((error: unknown) => {
            throw new Error(`no answer to ${JSON.stringify(sent)}`, { cause: error });
          });
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          for (const [, secret = ""] of text.matchAll(/"secret":"([^"]+)"/g)) given.add(secret);
          const secrets = [...Object.values(KEYS), token].filter((secret) => text.includes(secret));
          const isServerError = status >= 500;
          expect({ sent, text, isServerError, secrets }).toEqual({
            sent,
            text,
            isServerError: false,
            secrets: [],
          });
        }
      }),
    );
    for (const status of [200, 201, 204, 400, 401, 403, 404, 405, 406, 409, 415])
      expect([status, statuses.has(status)]).toEqual([status, true]);
    const secrets = [...Object.values(KEYS), token, PROMPT, ...given];
    expect(secrets.filter((secret) => node.logged.includes(secret))).toEqual([]);
    expect(node.logged).not.toContain('"level":"error"');
  });
  agent.destroy();
});
