import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import { authorization, call, createGeneration, openPlatform } from "../testing/platform.ts";

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

test("a page of an origin that is not listed gets no leave to read", async () => {
  await using platform = await openPlatform({ corsOrigins: [ORIGIN] });
  const answerTo = async (origin: string) => {
    const { headers } = await call(`${platform.node.url}/v1/generations/x`, { headers: { origin } });
    return headers.get("access-control-allow-origin");
  };
  expect(await answerTo(ORIGIN)).toBe(ORIGIN);
  expect(await answerTo("https://evil.example")).toBeNull();
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
