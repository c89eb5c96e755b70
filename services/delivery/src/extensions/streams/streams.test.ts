import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { eventually, openSseReader } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  append as appendEvents,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  type Node,
  openPlatform,
  type Platform,
  started,
} from "../../testing/platform.ts";

let platform: Platform;
let nodes: readonly [Node, Node];
beforeAll(async () => {
  platform = await openPlatform();
  nodes = [platform.node, await platform.addNode()];
});
afterAll(() => platform[Symbol.asyncDispose]());

interface Options {
  readonly node?: 0 | 1;
  readonly key?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

async function ask(method: string, path: string, { node = 0, key, body, headers }: Options = {}) {
  const answer = await fetch(`${nodes[node].url}/v1/streams/${path}`, {
    method,
    headers: { ...authorization(key), ...headers },
    ...(body !== undefined && { body }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const TEXT = { "content-type": "text/plain" };
const JSON_TYPE = { "content-type": "application/json" };
const CLOSING = { "stream-closed": "true" };

async function create(headers: Record<string, string> = TEXT, body?: string): Promise<string> {
  const name = randomUUID();
  const { status } = await ask("PUT", name, { headers, ...(body !== undefined && { body }) });
  expect(status).toBe(201);
  return name;
}

const append = (name: string, body: string, options: Options = {}) =>
  ask("POST", name, { body, ...options, headers: { ...TEXT, ...options.headers } });
const offsetOf = ({ headers }: { headers: Headers }) => headers.get("stream-next-offset")!;

interface Control {
  readonly streamNextOffset: string;
  readonly streamCursor?: string;
  readonly streamClosed?: true;
  readonly upToDate?: true;
}

/** Follows a stream's events at a node. */
async function openEvents(path: string, { node = 1, key }: Options = {}) {
  const answer = await fetch(`${nodes[node].url}/v1/streams/${path}`, { headers: authorization(key) });
  expect(answer.status).toBe(200);
  const events: { readonly event: string; readonly data: string }[] = [];
  const read = async () => {
    let text = "";
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const whole = text.split("\n\n");
      text = whole.pop()!;
      for (const one of whole) {
        const lines = one.split("\n").filter((line) => line.startsWith("data:"));
        const [event = ""] = /(?<=^event: ).*/m.exec(one) ?? [];
        events.push({ event, data: lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n") });
      }
    }
  };
  const ended = read();
  return {
    headers: answer.headers,
    ended,
    content: () => events.flatMap(({ event, data }) => (event === "data" ? [data] : [])),
    controls: () =>
      events.flatMap(({ event, data }) => (event === "control" ? [JSON.parse(data) as Control] : [])),
  };
}

describe("two nodes", () => {
  test("create, append, read, close and delete one stream", async () => {
    const name = await create(TEXT, "a");
    expect((await ask("PUT", name, { node: 1, headers: TEXT })).status).toBe(200);
    expect((await ask("PUT", name, { node: 1, headers: JSON_TYPE })).status).toBe(409);
    const appended = await append(name, "b", { node: 1 });
    expect([appended.status, (await append(name, "c")).status]).toEqual([204, 204]);
    const first = await ask("GET", name, { node: 1 });
    expect([first.text, first.headers.get("stream-up-to-date")]).toEqual(["abc", "true"]);
    expect((await ask("GET", `${name}?offset=${offsetOf(appended)}`)).text).toBe("c");
    const again = await ask("GET", name, { headers: { "if-none-match": first.headers.get("etag")! } });
    expect(again.status).toBe(304);
    const closed = await append(name, "d", { node: 1, headers: CLOSING });
    expect([closed.status, closed.headers.get("stream-closed")]).toEqual([204, "true"]);
    const refused = await append(name, "e");
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      409,
      { error: { code: "stream_closed" } },
    ]);
    expect(offsetOf(refused)).toBe(offsetOf(closed));
    const head = await ask("HEAD", name);
    expect([offsetOf(head), head.headers.get("stream-closed")]).toEqual([offsetOf(closed), "true"]);
    expect((await ask("DELETE", name, { node: 1 })).status).toBe(204);
    for (const method of ["GET", "HEAD", "DELETE"]) expect((await ask(method, name)).status).toBe(404);
    const stale = offsetOf(closed);
    expect((await ask("PUT", name, { headers: TEXT, body: "new" })).status).toBe(201);
    expect((await ask("GET", `${name}?offset=${stale}`, { node: 1 })).status).toBe(410);
    expect((await ask("GET", name, { node: 1 })).text).toBe("new");
  });

  test("store a producer's appends once, and fence its earlier epochs", async () => {
    const name = await create();
    const produce = async (node: 0 | 1, epoch: number, seq: number) => {
      const headers = { "producer-id": "p", "producer-epoch": `${epoch}`, "producer-seq": `${seq}` };
      const answer = await append(name, `${epoch}.${seq} `, { node, headers });
      const told = ["producer-epoch", "producer-seq", "producer-expected-seq"].map((one) =>
        answer.headers.get(one),
      );
      return [answer.status, ...told];
    };
    expect(await produce(0, 0, 0)).toEqual([200, "0", "0", null]);
    expect(await produce(1, 0, 1)).toEqual([200, "0", "1", null]);
    expect(await produce(0, 0, 0)).toEqual([204, "0", "1", null]);
    expect(await produce(0, 0, 3)).toEqual([409, null, null, "2"]);
    expect(await produce(1, 1, 0)).toEqual([200, "1", "0", null]);
    expect(await produce(0, 0, 2)).toEqual([403, "1", null, null]);
    const repeated = await append(name, "?", {
      headers: { "producer-id": "p", "producer-epoch": "1", "producer-seq": "0" },
    });
    expect([repeated.status, offsetOf(repeated)]).toEqual([204, offsetOf(await ask("HEAD", name))]);
    expect((await ask("GET", name)).text).toBe("0.0 0.1 1.0 ");
  });

  test("wake long-polls of each other by an append, and by a close", async () => {
    const name = await create();
    const poll = (offset: string) => ask("GET", `${name}?offset=${offset}&live=long-poll`, { node: 1 });
    const [one] = await Promise.all([poll("-1"), append(name, "a")]);
    expect([one.status, one.text]).toEqual([200, "a"]);
    expect(one.headers.get("stream-cursor")).toMatch(/^[0-9]+$/);
    const [two] = await Promise.all([poll(offsetOf(one)), ask("POST", name, { headers: CLOSING })]);
    expect([two.status, two.text, two.headers.get("stream-closed")]).toEqual([204, "", "true"]);
    expect(offsetOf(two)).toBe(offsetOf(one));
  });

  test("show each other's appends as events, the last one before the end", async () => {
    const name = await create(JSON_TYPE, "[1]");
    const events = await openEvents(`${name}?offset=-1&live=sse`);
    const texts = ["2", "[3,[4]]", '{"a":"\\n"}'];
    for (const text of texts) await append(name, text, { headers: JSON_TYPE });
    await append(name, "5", { headers: { ...JSON_TYPE, ...CLOSING } });
    await events.ended;
    expect(events.content()).toEqual(["[1]", "[2]", "[3,[4]]", '[{"a":"\\n"}]', "[5]"]);
    const controls = events.controls();
    expect(controls).toHaveLength(5);
    expect(controls.at(-1)).toEqual({
      streamNextOffset: offsetOf(await ask("HEAD", name)),
      streamClosed: true,
      upToDate: true,
    });
    expect((await ask("GET", name)).text).toBe('[1,2,3,[4],{"a":"\\n"},5]');
  });
});

test.each([
  ["[1,]", "invalid_json"],
  ["1 2", "invalid_json"],
  ["[".repeat(200) + "]".repeat(200), "invalid_request"],
  ['{"__proto__":1}', "invalid_request"],
])("JSON that a reader could not take is refused: %.12s", async (body, code) => {
  const answer = await ask("POST", await create(JSON_TYPE), { body, headers: JSON_TYPE });
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { error: { code } }]);
});

test("content that is not text comes as base64, and text can end no event", async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const binary = await create({ "content-type": "image/png" });
  await ask("POST", binary, { body: bytes, headers: { "content-type": "image/png", ...CLOSING } });
  const events = await openEvents(`${binary}?offset=-1&live=sse`);
  await events.ended;
  expect(events.headers.get("stream-sse-data-encoding")).toBe("base64");
  expect(events.content()).toEqual([Buffer.from(bytes).toString("base64")]);
  const text = await create({ ...TEXT, ...CLOSING }, ' a\r\n\r\nevent: control\rdata: {"b":1}\n\n');
  const lines = await openEvents(`${text}?offset=-1&live=sse`);
  await lines.ended;
  expect(lines.content()).toEqual([' a\n\nevent: control\ndata: {"b":1}\n\n']);
  expect(lines.controls()).toHaveLength(1);
});

test("a reader that reads nothing holds up no other, and gets the rest from the log once it reads", async () => {
  const name = await create();
  const path = `/v1/streams/${name}?offset=-1&live=sse`;
  const request = get(`${nodes[0].url}${path}`, { headers: authorization() });
  const [stuck] = (await once(request, "response")) as [IncomingMessage];
  const events = await openEvents(`${name}?offset=-1&live=sse`, { node: 0 });
  const part = "x".repeat(1_000_000);
  for (let i = 0; i < 12; i++) expect((await append(name, part)).status).toBe(204);
  await ask("POST", name, { headers: CLOSING });
  await events.ended;
  expect(events.content().map(({ length }) => length)).toEqual(Array.from({ length: 12 }, () => part.length));
  expect((await textOf(stuck)).split(part)).toHaveLength(13);
});

describe("a generation", () => {
  test("is read at the same cursors by pages, long-polls and events", async () => {
    const { ref, worker, path } = await createGeneration(platform);
    const url = ref.generation;
    await appendEvents(worker, started(), delta("a"));
    const pageAt = async (after: string) => {
      const answer = await fetch(`${nodes[1].url}${path}/events?after=${after}`, {
        headers: { ...authorization(), accept: "application/json" },
      });
      return (await answer.json()) as { events: unknown[]; cursor: string };
    };
    const first = await eventually(async () => {
      const answer = await ask("GET", url);
      expect(JSON.parse(answer.text)).toHaveLength(2);
      return answer;
    });
    const page = await pageAt("");
    expect([JSON.parse(first.text), offsetOf(first)]).toEqual([page.events, page.cursor]);
    const poll = ask("GET", `${url}?offset=${page.cursor}&live=long-poll`, { node: 1 });
    const events = await openEvents(`${url}?offset=${page.cursor}&live=sse`);
    await appendEvents(worker, delta("b"));
    expect(JSON.parse((await poll).text)).toEqual([expect.objectContaining({ text: "b" })]);
    await appendEvents(worker, completed());
    await events.ended;
    const { events: rest, cursor } = await pageAt(page.cursor);
    expect(events.content().flatMap((data) => JSON.parse(data) as unknown[])).toEqual(rest);
    expect(events.controls().at(-1)).toMatchObject({ streamClosed: true, streamNextOffset: cursor });
    const head = await ask("HEAD", url);
    expect([offsetOf(head), head.headers.get("stream-closed")]).toEqual([cursor, "true"]);
    await using native = await openSseReader(`${nodes[0].url}${path}/events?after=${offsetOf(await poll)}`, {
      headers: authorization(),
    });
    await native.ended;
    expect([native.frames.length, native.lastEventId]).toEqual([1, cursor]);
  });

  test("is read with its stream token, which reads no other generation and no stream", async () => {
    const { ref, path } = await createGeneration(platform);
    const other = (await createGeneration(platform)).ref.generation;
    const minted = await fetch(`${nodes[0].url}${path}/tokens`, {
      method: "POST",
      headers: { ...authorization(), ...JSON_TYPE },
      body: JSON.stringify({ scopes: ["read"] }),
    });
    const { token: key } = (await minted.json()) as { token: string };
    const statuses = [];
    for (const name of [ref.generation, other, await create()])
      statuses.push((await ask("GET", name, { key })).status);
    expect(statuses).toEqual([200, 404, 403]);
  });

  test("is written by no append, and read by no other tenant", async () => {
    const { ref } = await createGeneration(platform);
    for (const method of ["PUT", "POST", "DELETE"])
      expect((await ask(method, ref.generation, { headers: TEXT, body: "x" })).status).toBe(405);
    expect((await ask("GET", ref.generation, { key: KEYS.beta })).status).toBe(404);
  });
});

test("a name belongs to its tenant, and each call needs its role", async () => {
  const name = await create(TEXT, "secret");
  expect((await ask("GET", name, { key: KEYS.beta })).status).toBe(404);
  expect((await ask("POST", name, { key: KEYS.beta, headers: TEXT, body: "x" })).status).toBe(404);
  expect((await ask("PUT", name, { key: KEYS.beta, headers: TEXT })).status).toBe(201);
  expect((await ask("DELETE", name, { key: KEYS.beta })).status).toBe(204);
  expect((await ask("GET", name)).text).toBe("secret");
  const refused = [
    ["PUT", KEYS.acmeReader],
    ["POST", KEYS.acmeReader],
    ["DELETE", KEYS.acmeReader],
    ["GET", KEYS.acmeCreator],
    ["HEAD", KEYS.acmeCreator],
    ["GET", "rk_unknown"],
  ] as const;
  const statuses = [];
  for (const [method, key] of refused)
    statuses.push(
      (await ask(method, name, { key, ...(method === "POST" && { headers: TEXT, body: "x" }) })).status,
    );
  expect(statuses).toEqual([403, 403, 403, 403, 403, 401]);
});

test("a reader whose key is revoked is broken off, and sent nothing that is appended later", async () => {
  await using revoking = await openPlatform({ liveTenants: true });
  const { url } = revoking.node;
  const keys = `${url}/v1/admin/tenants/acme/keys`;
  const made = await call(keys, { key: KEYS.operator, body: { name: "reader", roles: ["read"] } });
  const { id, secret } = made.json as { id: string; secret: string };
  const path = `${url}/v1/streams/one`;
  expect((await call(path, { method: "PUT", headers: TEXT, body: "before" })).status).toBe(201);
  const answer = await fetch(`${path}?offset=-1&live=sse`, { headers: authorization(secret) });
  expect((await call(`${keys}/${id}`, { method: "DELETE", key: KEYS.operator })).status).toBe(204);
  expect((await call(path, { headers: TEXT, body: "after" })).status).toBe(204);
  let text = "";
  const read = async () => {
    for await (const chunk of answer.body!) text += Buffer.from(chunk).toString();
  };
  await expect(read()).rejects.toThrow();
  expect([text.includes("before"), text.includes("after")]).toEqual([true, false]);
});

test("a page may make these calls, and read what it needs of their answers", async () => {
  const name = await create();
  const preflight = await fetch(`${nodes[0].url}/v1/streams/${name}`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "PUT",
      "access-control-request-headers": "authorization,producer-id,stream-seq,if-none-match",
    },
  });
  expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([
    204,
    "PUT, POST, GET, HEAD, DELETE",
  ]);
  const allowed = preflight.headers.get("access-control-allow-headers")!.toLowerCase().split(", ");
  expect(allowed).toEqual(expect.arrayContaining(["producer-id", "stream-seq", "if-none-match"]));
  const { headers } = await ask("GET", name, { headers: { origin: "https://app.example" } });
  const exposed = headers.get("access-control-expose-headers")!.toLowerCase().split(", ");
  expect(exposed).toEqual(expect.arrayContaining(["stream-next-offset", "stream-up-to-date", "etag"]));
});

test("hostile names, headers and queries are refused, and store nothing", async () => {
  const name = await create();
  const names = ["", "__ds/subscriptions/a", "x".repeat(1_025), "%", "%00%ff"];
  for (const hostile of names) {
    const { status } = await ask("PUT", hostile, { headers: TEXT });
    expect([hostile.slice(0, 20), [400, 404].includes(status)]).toEqual([hostile.slice(0, 20), true]);
  }
  for (const odd of ["*", ">", "a.b", "..%2f..%2fadmin", "%F0%9F%98%80", "gen_", "a/b/"])
    expect([odd, (await ask("PUT", odd, { headers: TEXT })).status]).toEqual([odd, 201]);
  expect((await ask("GET", "a%2Fb%2F")).status).toBe(200);
  const long = "x".repeat(257);
  const headers = [
    { "stream-ttl": "1.5" },
    { "stream-ttl": "1", "stream-expires-at": "2030-01-01T00:00:00Z" },
    { "stream-expires-at": "soon" },
    { "stream-forked-from": "/v1/streams/a" },
    { "content-type": `text/${long}` },
  ];
  for (const one of headers)
    expect([one, (await ask("PUT", `${name}-2`, { headers: { ...TEXT, ...one } })).status]).toEqual([
      one,
      400,
    ]);
  const appends = [
    { "producer-id": "p" },
    { "producer-id": "", "producer-epoch": "0", "producer-seq": "0" },
    { "producer-id": "p", "producer-epoch": "0", "producer-seq": "9007199254740992" },
    { "producer-id": long, "producer-epoch": "0", "producer-seq": "0" },
    { "stream-seq": long },
  ];
  for (const one of appends)
    expect([one, (await append(name, "x", { headers: one })).status]).toEqual([one, 400]);
  for (const query of [
    "offset=",
    "offset=1",
    "offset=a,b",
    "offset=-1&offset=-1",
    "live=sse",
    "live=x&offset=-1",
  ])
    expect([query, (await ask("GET", `${name}?${query}`)).status]).toEqual([query, 400]);
  const beyond = `${name}?offset=0${"9".repeat(15)}_${"0".repeat(16)}`;
  for (const live of ["", "&live=long-poll", "&live=sse"])
    expect([live, (await ask("GET", beyond + live)).status]).toEqual([live, 400]);
  expect((await append(name, "x".repeat(1_048_577))).status).toBe(413);
  expect((await ask("GET", name)).text).toBe("");
});
