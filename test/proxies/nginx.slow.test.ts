import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { openSseReader, type SseReader } from "@reprise/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectUndisturbed, follow, untilMore } from "./testing/followers.ts";
import { openHttp2, send } from "./testing/http-client.ts";
import { checkNginxFiles, type Nginx, startNginx } from "./testing/nginx.ts";
import { copyNginxFiles } from "./testing/nginx-files.ts";
import { ENDLESS, type ProxiedPlatform, startProxiedPlatform } from "./testing/proxied-platform.ts";

const READERS = 20;
/** Events between which a reader is disturbed. */
const SOME = 5;
/** More than two heartbeats, and more than each of the two timeouts below. */
const SILENCE_MS = 40_000;
const BELOW_HEARTBEAT_S = 8;
const ABOVE_HEARTBEAT_S = 20;
const LIMIT_BYTES = 1_048_576;
/** Connections that a client makes until its stream continues, after the nodes listen again. */
const MOST_TRIES = 3;

const SSE = "text/event-stream";
const JSON_TYPE = "application/json";
const pathOf = (id: string) => `/v1/generations/${id}`;
const eventsOf = (id: string) => `${pathOf(id)}/events`;

let platform: ProxiedPlatform;
let proxy: Nginx;
let authorization: string;

beforeAll(async () => {
  platform = await startProxiedPlatform();
  authorization = `Bearer ${platform.apiKey}`;
  proxy = await startNginx(platform);
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await platform?.[Symbol.asyncDispose]();
});

// nginx may still have a node that a test has started again as failed.
beforeEach(async () => {
  const headers = { authorization };
  const status = async () => (await send(proxy.url + pathOf("gen_x"), { headers })).status;
  await expect.poll(status).toBeLessThan(500);
});

const read = (via: Nginx, id: string, headers: Record<string, string> = {}): Promise<SseReader> =>
  openSseReader(via.url + eventsOf(id), { headers: { authorization, ...headers } });
const linesOfRequest = (id: string) =>
  platform.nodes
    .flatMap(({ lines }) => lines)
    .filter(({ msg, request }) => msg === "request" && request === id);

describe("nginx with infra/proxies/nginx", () => {
  test("accepts the files, and no others", async () => {
    await using files = await copyNginxFiles(platform);
    await checkNginxFiles(files);
    await appendFile(join(files.dir, "nginx.conf"), "\nno_such_setting on;\n");
    await expect(checkNginxFiles(files)).rejects.toThrow("Command failed");
  });

  test("passes each event on when it comes, and compresses nothing", async () => {
    // Too little to fill a buffer, and nothing follows.
    const stalling = { chunks: ["one ", "two ", "three", "never"], stall_after_tokens: 3 };
    const { id } = await platform.create(stalling, { timeouts: { between_tokens: { answer: "fail" } } });
    await using reader = await read(proxy, id, { "accept-encoding": "gzip, deflate, br, zstd" });
    expect(reader.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    expect(reader.headers["content-encoding"]).toBe(undefined);
    let text = "";
    for await (const { data } of reader) {
      text += (JSON.parse(data) as { text?: string }).text ?? "";
      if (text === "one two three") break;
    }
    expect(await platform.get(id)).toMatchObject({ status: "in_progress", text });
    await platform.cancel(id);
    expect(await reader.ended).toBe("clean");
  });

  test("carries many streams over one connection of HTTP/2, and says that TLS is to stay", async () => {
    const { id } = await platform.create(ENDLESS);
    await using connection = await openHttp2(proxy.tlsUrl, proxy.ca);
    expect(connection.session.alpnProtocol).toBe("h2");
    const headers = { authorization, accept: SSE };
    const streams = await Promise.all(
      Array.from({ length: READERS }, () => connection.openStream(eventsOf(id), headers)),
    );
    expect(streams.map(({ first }) => first.includes('"generation.started"'))).not.toContain(false);
    expect(streams[0]!.headers).toMatchObject({
      ":status": 200,
      "strict-transport-security": "max-age=31536000",
    });
    await platform.cancel(id);
    const ends = await Promise.all(streams.map(({ isWhole }) => isWhole));
    expect(ends).not.toContain(false);
  });

  test("waits as long as a long-poll does", async () => {
    const { id } = await platform.create({ tokens: 1, first_token_ms: 60_000 });
    const headers = { authorization, accept: JSON_TYPE };
    const ask = async (after: string, waitMs: number) => {
      const query = new URLSearchParams({ wait: String(waitMs), ...(after !== "" && { after }) });
      const { status, body } = await send(`${proxy.url}${eventsOf(id)}?${query}`, { headers });
      return { status, ...(JSON.parse(body) as { events: unknown[]; cursor: string; ended: boolean }) };
    };
    const first = await ask("", 30_000);
    expect(first).toMatchObject({ status: 200, events: [{ type: "generation.started" }] });
    expect(await ask(first.cursor, 30_000)).toMatchObject({ status: 200, events: [], ended: false });
    const waiting = ask(first.cursor, 30_000);
    await platform.cancel(id);
    expect(await waiting).toMatchObject({ events: [{ type: "generation.cancelled" }], ended: true });
  });

  test("keeps a silent stream open by its heartbeats, where its timeout is longer than their interval", async () => {
    await using patient = await startNginx({ ...platform, idleTimeoutS: ABOVE_HEARTBEAT_S });
    await using hasty = await startNginx({ ...platform, idleTimeoutS: BELOW_HEARTBEAT_S });
    const { id } = await platform.create({ tokens: 3, first_token_ms: SILENCE_MS });
    await using kept = await read(patient, id);
    await using lost = await read(hasty, id);
    await lost.ended;
    expect(lost.frames.map(({ data }) => data)).toEqual([expect.stringContaining('"generation.started"')]);
    expect(await kept.ended).toBe("clean");
    expect(kept.bytes.toString().split(": ping\n").length - 1).toBeGreaterThanOrEqual(2);
    expect(kept.frames.at(-1)!.data).toContain('"generation.completed"');
  });

  test("breaks a stream off when its node dies, and its client resumes at the other one", async () => {
    const { id } = await platform.create(ENDLESS);
    const readers = await Promise.all(Array.from({ length: 4 }, () => read(proxy, id)));
    await using connection = await openHttp2(proxy.tlsUrl, proxy.ca);
    const headers = { authorization, accept: SSE };
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => connection.openStream(eventsOf(id), headers)),
    );
    const followers = follow(platform, proxy.url, id, READERS);
    await untilMore(followers, SOME);
    await platform.kill(1);
    const end = await Promise.race(readers.map(({ ended }) => ended));
    const isWhole = await Promise.race(streams.map((stream) => stream.isWhole));
    expect([end, isWhole]).toEqual(["broken", false]);
    await untilMore(followers, SOME);
    await platform.restart(1);
    await platform.cancel(id);
    await expectUndisturbed(platform, id, followers);
    // Nothing is sticky: they were at both nodes.
    const moved = followers.filter(({ stream }) => stream.reconnects > 0).length;
    expect([moved > 0, moved < READERS]).toEqual([true, true]);
    for (const reader of readers) await reader[Symbol.asyncDispose]();
  });

  test("answers while no node is there so that clients come again", async () => {
    const { id } = await platform.create(ENDLESS);
    const followers = follow(platform, proxy.url, id, READERS);
    await untilMore(followers, SOME);
    await Promise.all([platform.kill(0), platform.kill(1)]);
    const { status } = await send(proxy.url + pathOf(id), { headers: { authorization } });
    expect([502, 503, 504]).toContain(status);
    expect((await send(`${proxy.url}/proxy-health`)).status).toBe(204);
    await Promise.all([platform.restart(0), platform.restart(1)]);
    const before = followers.map(({ stream }) => stream.reconnects);
    await untilMore(followers, SOME);
    const tries = followers.map(({ stream }, index) => stream.reconnects - before[index]!);
    expect(Math.max(...tries)).toBeLessThanOrEqual(MOST_TRIES);
    await platform.cancel(id);
    await expectUndisturbed(platform, id, followers);
  });

  test("breaks streams off that outlast a reload's grace, and their clients resume", async () => {
    await using brief = await startNginx({ ...platform, graceS: 1 });
    const { id } = await platform.create(ENDLESS);
    const followers = follow(platform, brief.url, id, READERS);
    await untilMore(followers, SOME);
    await brief.reload();
    await expect.poll(() => followers.filter(({ stream }) => stream.reconnects === 0).length).toBe(0);
    await untilMore(followers, SOME);
    await platform.cancel(id);
    await expectUndisturbed(platform, id, followers);
  });

  test("tells delivery the client's address and one id for the request, not those that the client claims", async () => {
    const { id } = await platform.create({ tokens: 1 });
    const claimed = "claimed-by-the-client";
    const { status, headers } = await send(proxy.url + pathOf(id), {
      headers: { authorization, "x-forwarded-for": "203.0.113.9", "x-request-id": claimed },
      localAddress: "127.0.0.2",
    });
    expect(status).toBe(200);
    const request = String(headers["x-request-id"]);
    expect(request).toMatch(/^[0-9a-f-]{32,36}$/);
    await expect.poll(() => linesOfRequest(request)).toMatchObject([{ address: "127.0.0.2", status: 200 }]);
    await expect.poll(() => proxy.log()).toContain(request);
    expect(linesOfRequest(claimed)).toEqual([]);
  });

  test("logs no token of a stream's URL, also where the stream breaks off", async () => {
    const { id } = await platform.create(ENDLESS);
    const minted = await send(`${proxy.url}${pathOf(id)}/tokens`, {
      method: "POST",
      headers: { authorization, "content-type": JSON_TYPE },
      body: JSON.stringify({ scopes: ["read"] }),
    });
    const { token } = JSON.parse(minted.body) as { token: string };
    const url = `${proxy.url}${eventsOf(id)}?token=${token}`;
    const readers = await Promise.all(Array.from({ length: 4 }, () => openSseReader(url)));
    expect(readers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await Promise.all([platform.kill(0), platform.kill(1)]);
    await Promise.all(readers.map(({ ended }) => ended));
    const refused = await openSseReader(url);
    await refused.ended;
    await Promise.all([platform.restart(0), platform.restart(1)]);
    await platform.cancel(id);
    await expect
      .poll(async () => (await proxy.log()).split(eventsOf(id)).length - 1)
      .toBeGreaterThan(readers.length);
    expect(await proxy.log()).not.toContain(token);
  });

  test("leaves it to delivery to refuse what is too large or not allowed", async () => {
    const post = (key: string, bytes: number) =>
      send(`${proxy.url}/v1/generations`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": JSON_TYPE },
        body: JSON.stringify({ model: "sim", input: "x".repeat(bytes) }),
      });
    const unknown = await post("rk_acme_unknown", 0.9 * LIMIT_BYTES);
    expect([unknown.status, unknown.body]).toEqual([401, expect.stringContaining('"unauthenticated"')]);
    const large = await post(platform.apiKey, 1.5 * LIMIT_BYTES);
    expect([large.status, large.body]).toEqual([413, expect.stringContaining('"body_too_large"')]);
    const whole = await post(platform.apiKey, 0.9 * LIMIT_BYTES);
    expect(whole.status).toBe(201);
    const headers = { authorization, "x-padding": "x".repeat(12_000) };
    expect((await send(`${proxy.url}/v1/generations/gen_x`, { headers })).body).toContain('"error"');
  });
});
