import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { authorization, call, createGeneration, KEYS, openPlatform } from "../testing/platform.ts";

const ORIGIN = "https://app.example";

test("a page of any origin may call, and may read what it needs", async () => {
  await using platform = await openPlatform();
  const { path } = await createGeneration(platform);
  const preflight = await fetch(`${platform.node.url}/v1/generations`, {
    method: "OPTIONS",
    headers: {
      origin: ORIGIN,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,idempotency-key,last-event-id",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
  expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, POST");
  const allowed = preflight.headers.get("access-control-allow-headers")!.toLowerCase().split(", ");
  expect(allowed).toEqual(
    expect.arrayContaining(["authorization", "content-type", "idempotency-key", "last-event-id"]),
  );

  const headers = { ...authorization(), origin: ORIGIN };
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  expect(reader.headers).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-expose-headers": expect.stringMatching(
      /^Reprise-Generation-Id, Location, Retry-After, RateLimit, RateLimit-Policy/,
    ),
  });
  const refused = await call(`${platform.node.url}/v1/generations/x`, { headers: { origin: ORIGIN } });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([404, "*"]);
});

test("a page of another origin may not change tenants by PUT or DELETE, nor send If-Match", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  for (const [method, path] of [
    ["PUT", "/v1/admin/tenants/acme/policy"],
    ["DELETE", "/v1/admin/tenants/acme"],
  ] as const) {
    const { status, headers } = await fetch(platform.node.url + path, {
      method: "OPTIONS",
      headers: {
        origin: ORIGIN,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization,if-match",
      },
    });
    expect([status, headers.get("access-control-allow-methods")]).toEqual([204, "GET, POST"]);
    expect(headers.get("access-control-allow-headers")?.toLowerCase()).not.toContain("if-match");
  }
});

test("a page of an origin that is not listed gets no leave to read", async () => {
  await using platform = await openPlatform({ corsOrigins: [ORIGIN] });
  const answerTo = async (origin: string) => {
    const { headers } = await call(`${platform.node.url}/v1/generations/x`, { headers: { origin } });
    return headers.get("access-control-allow-origin");
  };
  expect(await answerTo(ORIGIN)).toBe(ORIGIN);
  expect(await answerTo("https://evil.example")).toBeNull();
});

const PORTAL = "https://portal.example";
const OTHER = "https://other.example";

async function openWithOrigins(corsOrigins: readonly string[]) {
  const platform = await openPlatform({ corsOrigins, liveTenants: true });
  const { url } = platform.node;
  const setOrigins = async (tenant: string, cors_origins?: readonly string[]) => {
    const path = `${url}/v1/admin/tenants/${tenant}/policy`;
    const { status } = await call(path, {
      method: "PUT",
      key: KEYS.operator,
      body: cors_origins ? { cors_origins } : {},
    });
    expect(status).toBe(200);
  };
  /** The origin that may read the answer, and what it varies by. */
  const allowed = async (
    origin: string,
    {
      key,
      method = "GET",
      path = "/v1/generations/x",
    }: { key?: string; method?: string; path?: string } = {},
  ) => {
    const headers = {
      origin,
      "access-control-request-method": "GET",
      ...(key !== undefined && authorization(key)),
    };
    const answer = await fetch(`${url}${path}`, { method, headers });
    await answer.text();
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    expect(answer.headers.get("vary")).toBe("Origin");
    return answer.headers.get("access-control-allow-origin");
  };
  return { setOrigins, allowed, [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose]() };
}

test("a tenant's own origins are the only ones that may read its answers", async () => {
  await using world = await openWithOrigins(["*"]);
  const { allowed } = world;
  await world.setOrigins("acme", [PORTAL]);
  expect(await allowed(PORTAL, { key: KEYS.acme })).toBe(PORTAL);
  expect(await allowed(OTHER, { key: KEYS.acme })).toBeNull();
  const forbidden = { key: KEYS.acmeReader, path: "/v1/admin/tenants/acme" };
  expect([await allowed(PORTAL, forbidden), await allowed(OTHER, forbidden)]).toEqual([PORTAL, null]);
  expect(await allowed(OTHER, { key: KEYS.beta })).toBe("*");
  // Before the tenant is known, the platform's origins count.
  expect(await allowed(OTHER, { method: "OPTIONS" })).toBe("*");
  expect(await allowed(OTHER)).toBe("*");
  await world.setOrigins("acme");
  expect(await allowed(OTHER, { key: KEYS.acme })).toBe("*");
});

test("a preflight, which has no credentials, is for the origins of the platform and of all tenants together", async () => {
  await using world = await openWithOrigins([ORIGIN]);
  const { allowed } = world;
  const preflight = { method: "OPTIONS" };
  expect(await allowed(PORTAL, preflight)).toBeNull();
  await world.setOrigins("acme", [PORTAL]);
  expect(await allowed(PORTAL, preflight)).toBe(PORTAL);
  expect(await allowed(ORIGIN, preflight)).toBe(ORIGIN);
  expect(await allowed(OTHER, preflight)).toBeNull();
  // A page can read why it is refused before its tenant is known; of the answers, only its own tenant's.
  expect(await allowed(PORTAL, { key: "rk_unknown_0123456789" })).toBe(PORTAL);
  expect(await allowed(PORTAL, { key: KEYS.acme })).toBe(PORTAL);
  expect(await allowed(PORTAL, { key: KEYS.beta })).toBeNull();
  expect(await allowed(ORIGIN, { key: KEYS.acme })).toBeNull();
  expect(await allowed(ORIGIN, { key: KEYS.beta })).toBe(ORIGIN);
  await world.setOrigins("acme", []);
  expect(await allowed(PORTAL, preflight)).toBeNull();
  expect(await allowed(ORIGIN, { key: KEYS.acme })).toBeNull();
});

test("no answer may be stored, framed or sniffed, whatever it is", async () => {
  await using platform = await openPlatform();
  const { url } = platform.node;
  const { path } = await createGeneration(platform);
  const answers = await Promise.all([
    call(`${url}${path}`),
    call(`${url}${path}`, { key: "rk_unknown_0123456789" }),
    call(`${url}${path}`, { method: "OPTIONS" }),
    call(`${url}/nothing`),
    call(`${url}/v1/generations`, { body: "{" }),
    call(`${url}/%zz`),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 204, 404, 400, 400]);
  for (const { headers } of answers)
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
});

test("a page can read why a node that drains refuses it", async () => {
  await using platform = await openPlatform();
  platform.node.delivery.drain();
  const { status, headers } = await call(`${platform.node.url}/v1/generations/x`, {
    headers: { origin: ORIGIN },
  });
  expect([status, headers.get("access-control-allow-origin")]).toEqual([503, "*"]);
});

test("OPTIONS without an origin is no error of ours", async () => {
  await using platform = await openPlatform();
  const { status } = await call(`${platform.node.url}/v1/generations`, { method: "OPTIONS" });
  expect(status).toBe(204);
});
