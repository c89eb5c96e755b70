import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { recordOps } from "@reprise/broker";
import {
  append,
  authorization,
  call,
  createGeneration,
  KEYS,
  openPlatform,
  started,
} from "../testing/platform.ts";
import { openRawConnection, rawGet } from "../testing/raw-connection.ts";

const MADE = /^req_[A-Za-z0-9_-]{16}$/;
const JSON_BODY = { "content-type": "application/json" };

describe("each answer has a request id of its own", async () => {
  const platform = await openPlatform();
  const hasty = await platform.addNode({ arrivalMs: 200 });
  const { path } = await createGeneration(platform);
  const bearer = authorization(KEYS.acme);
  const post = (headers: Record<string, string>, length: number) =>
    rawGet("/v1/generations", { ...headers, "content-length": `${length}` }).replace("GET", "POST");
  const seen = new Set<string>();

  test.each([
    ["a generation", rawGet(path, bearer), 200],
    ["a stream", rawGet(`${path}/events`, bearer), 200],
    [
      "a preflight",
      rawGet(path, { origin: "https://app.example", "access-control-request-method": "GET" }).replace(
        "GET",
        "OPTIONS",
      ),
      204,
    ],
    ["a key that is not known", rawGet(path, {}), 401],
    ["a role that is lacking", rawGet("/v1/audit/generations", bearer), 403],
    ["a path that does not exist", rawGet("/nothing", {}), 404],
    ["a path that does not exist below /v1/", rawGet("/v1/nothing", bearer), 404],
    ["a generation that does not exist", rawGet("/v1/generations/x", bearer), 404],
    ["a method that is not allowed", rawGet(path, bearer).replace("GET", "PUT"), 405],
    ["a body that is too large", post({ ...bearer, ...JSON_BODY }, 2_000_000), 413],
    ["a body of another type", `${post({ ...bearer, "content-type": "text/html" }, 2)}{}`, 415],
    ["a body that is not JSON", `${post({ ...bearer, ...JSON_BODY }, 1)}{`, 400],
    ["a malformed URL", rawGet("/%zz", bearer), 400],
    ["what is not HTTP", "NONSENSE\r\n\r\n", 400],
    ["a request that does not arrive", "GET / HT", 408],
    ["headers that are too large", rawGet("/", { big: "x".repeat(20_000) }), 431],
    ["a CONNECT", rawGet("/", {}).replace("GET /", "CONNECT a:1"), 405],
  ])("%s", async (_name, bytes, status) => {
    await using connection = await openRawConnection((status === 408 ? hasty : platform.node).url);
    connection.send(bytes);
    await connection.until("\r\n\r\n");
    const id = /^x-request-id: (.*)\r$/im.exec(connection.text)?.[1];
    expect([connection.text.split(" ")[1], id]).toEqual([`${status}`, expect.stringMatching(MADE)]);
    expect(seen).not.toContain(id);
    seen.add(id!);
  });

  test("a call at a node that drains", async () => {
    const node = await platform.addNode();
    node.delivery.drain();
    const { status, headers } = await call(`${node.url}${path}`);
    expect([status, headers.get("x-request-id")]).toEqual([503, expect.stringMatching(MADE)]);
    await platform[Symbol.asyncDispose]();
  });
});

test("a trusted proxy's request id is taken where it is well-formed, and from no other sender", async () => {
  await using platform = await openPlatform({ trustedProxies: ["127.0.0.1"] });
  const direct = await platform.addNode();
  const idFor = async (url: string, id: string) => {
    const { headers } = await call(`${url}/v1/generations/x`, { headers: { "x-request-id": id } });
    return headers.get("x-request-id");
  };
  const good = ["01JD8QKX2M", "4b1d7a52-8a33-4d27-9a0c-0f9d8f4a7c11", "x".repeat(64)];
  for (const id of good) expect(await idFor(platform.node.url, id)).toBe(id);
  const bad = [
    "",
    "short",
    "x".repeat(65),
    "a b c d e f",
    "a,b,c,d,e,f",
    '"quoted-id"',
    "id={json}:1",
    KEYS.acme,
  ];
  for (const id of bad) expect(await idFor(platform.node.url, id)).toMatch(MADE);
  for (const id of good) expect(await idFor(direct.url, id)).toMatch(MADE);
});

test("a line in the log about a request has its id", async () => {
  await using platform = await openPlatform();
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started());
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
    headers: authorization(),
  });
  await reader.nextFrame();
  await recordOps(platform.log.publish, ref, {
    kind: "erased",
    at: new Date().toISOString(),
    erasure: "era_1",
  });
  expect(await reader.ended).toBe("broken");
  const line = platform.node.logged.split("\n").find((text) => text.includes("a stream was broken off"));
  expect(JSON.parse(line!)).toMatchObject({ request: reader.headers["x-request-id"] });
});
