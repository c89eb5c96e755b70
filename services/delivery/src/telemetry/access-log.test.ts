import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  KEYS,
  type Node,
  openPlatform,
  REQUEST,
  started,
} from "../testing/platform.ts";
import { openRawConnection, rawGet } from "../testing/raw-connection.ts";

interface Line {
  readonly request: string;
  readonly method: string;
  readonly route?: string;
  readonly status?: number;
  readonly complete: boolean;
  readonly bytes: number;
  readonly ms: number;
  readonly tenant?: string;
  readonly key?: string;
  readonly address?: string;
}

function linesOf({ logged }: Node): Line[] {
  const lines = logged.split("\n").filter((text) => text !== "");
  return lines
    .map((text) => JSON.parse(text) as Line & { msg: string })
    .filter(({ msg }) => msg === "request");
}

const untilLogged = (node: Node, count: number) => expect.poll(() => linesOf(node)).toHaveLength(count);

describe("the access log", () => {
  test("is not there where it is off", async () => {
    await using platform = await openPlatform();
    await createGeneration(platform);
    expect(linesOf(platform.node)).toEqual([]);
  });

  test("has one line per request, with its route and its caller", async () => {
    await using platform = await openPlatform({ accessLog: "on", liveTenants: true });
    const { node } = platform;
    const { url } = node;
    const { path } = await createGeneration(platform);
    const known = await call(`${url}${path}`, { key: KEYS.acmeReader });
    await call(`${url}${path}`, { key: "rk_unknown_0123456789abcdef" });
    await call(`${url}/nothing`);
    await call(`${url}${path}/cancel`, { method: "PUT" });
    await call(`${url}/v1/admin/tenants`, { key: KEYS.operator });
    await using connection = await openRawConnection(url);
    connection.send(rawGet("/%zz", {}));
    await connection.until("\r\n\r\n");
    await untilLogged(node, 7);
    const lines = linesOf(node);
    const brief = ({ method, route, status, complete, tenant, key }: Line) => [
      method,
      route,
      status,
      complete,
      tenant,
      key,
    ];
    const hashed = expect.stringMatching(/^[0-9a-f]{12}$/);
    expect(lines.map(brief)).toEqual([
      ["POST", "/v1/generations", 201, true, "acme", "ann"],
      ["GET", "/v1/generations/:id", 200, true, "acme", hashed],
      ["GET", "/v1/generations/:id", 401, true, undefined, undefined],
      ["GET", undefined, 404, true, undefined, undefined],
      ["PUT", "/v1/generations/:id/cancel", 405, true, "acme", "ann"],
      ["GET", "/v1/admin/tenants", 200, true, undefined, "operator"],
      ["GET", undefined, 400, true, undefined, undefined],
    ]);
    expect(lines[1]).toMatchObject({ request: known.headers.get("x-request-id"), ms: expect.any(Number) });
    expect(lines[1]!.bytes).toBeGreaterThan(known.text.length);
    expect(lines.filter((line) => line.address !== undefined)).toEqual([]);
  });

  test("has a stream's line at its end, with what it was sent and whether it was whole", async () => {
    await using platform = await openPlatform({ accessLog: "on" });
    const { node } = platform;
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const open = () => openSseReader(`${node.url}${path}/events`, { headers: authorization() });
    const left = await open();
    await left.nextFrame();
    await using whole = await open();
    await whole.nextFrame();
    expect(linesOf(node)).toHaveLength(1);
    left.cut();
    await untilLogged(node, 2);
    await append(worker, completed());
    expect(await whole.ended).toBe("clean");
    await untilLogged(node, 3);
    const [, first, second] = linesOf(node);
    const stream = { route: "/v1/generations/:id/events", status: 200 };
    expect([first, second]).toMatchObject([
      { ...stream, complete: false },
      { ...stream, complete: true },
    ]);
    expect(first!.bytes).toBeGreaterThan(left.bytes.length);
    expect(second!.bytes).toBeGreaterThan(whole.bytes.length);
  });

  test("has the client's address where it is asked for", async () => {
    await using platform = await openPlatform({ accessLog: "with-address", trustedProxies: ["127.0.0.1"] });
    await call(`${platform.node.url}/`, { headers: { "x-forwarded-for": "203.0.113.5" } });
    await untilLogged(platform.node, 1);
    expect(linesOf(platform.node)[0]).toMatchObject({ address: "203.0.113.5" });
  });

  test("holds nothing that a client has sent: no line of the log does", async () => {
    await using platform = await openPlatform({ accessLog: "with-address", trustedProxies: ["127.0.0.1"] });
    const { node } = platform;
    const { url } = node;
    const { path } = await createGeneration(platform);
    const minted = await call(`${url}${path}/tokens`, { body: { scopes: ["read"] } });
    const { token } = minted.json as { token: string };
    const S = "s3cretS3CRET";
    const everywhere = {
      cookie: `session=${S}`,
      "x-request-id": `${S} `.repeat(2),
      "x-forwarded-for": S,
      "x-api-key": S,
      "user-agent": S,
      referer: `https://app.example/?token=${S}`,
      origin: `https://${S}.example`,
      "last-event-id": S,
      "idempotency-key": S,
      traceparent: S,
      accept: `text/${S}, application/json`,
    };
    const get = (at: string, headers: Record<string, string> = {}) =>
      call(`${url}${at}`, { headers: { ...everywhere, ...headers } });
    const bodies: [string, unknown][] = [
      ["/v1/generations", { ...REQUEST, input: S, metadata: { order: S }, end_user: S, options: { [S]: S } }],
      ["/v1/generations", { ...REQUEST, [S]: S }],
      ["/v1/generations", { model: S, input: S }],
      ["/v1/generations", `{"input":"${S}`],
      [`${path}/cancel`, { reason: S }],
      [`${path}/tool-results`, { call_id: S, output: S }],
      [`/v1/${S}`, { [S]: S }],
    ];
    for (const [at, body] of bodies) await call(`${url}${at}`, { body, headers: everywhere });
    await get(`/v1/generations/${S}`);
    await get(`/${S}/${S}?${S}=${S}`);
    await get(`${path}?${S}=${S}`);
    await get(path, { authorization: `Bearer ${S}` });
    await get(path, { authorization: `Basic ${S}` });
    await get(`${path}/events?token=${token}&after=${S}`);
    await get(`${path}/events?token=${S}`, { authorization: "" });
    const stream = await fetch(`${url}${path}/events?token=${token}`, {
      headers: { accept: "text/event-stream" },
    });
    expect(stream.status).toBe(200);
    await stream.body!.cancel();
    await using raw = await openRawConnection(url);
    raw.send(`GET /%zz${S} HTTP/1.1\r\nhost: ${S}\r\n\r\n`);
    await raw.until("\r\n\r\n");
    await using nonsense = await openRawConnection(url);
    nonsense.send(`${S}\r\n\r\n`);
    await nonsense.ended;
    await untilLogged(node, 2 + bodies.length + 7 + 2);
    const { logged } = node;
    for (const secret of [S, token, token.slice(-40), KEYS.acme, REQUEST.input])
      expect(logged).not.toContain(secret);
  });
});
