import { EventEmitter, once } from "node:events";
import { asSeq, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { followInput } from "@reprise/stream";
import { hashKey } from "@reprise/tenancy";
import { eventually } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  append,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  KEYS,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";
import { SOCKET_PROTOCOL, SOCKET_TOKEN_PROTOCOL } from "./socket-frames.ts";
import { type SessionOptions, SocketSession } from "./socket-session.ts";
import { openRawConnection } from "../testing/raw-connection.ts";

const ACME = parseTenantId("acme");
const ABSENT = "gen_0_00000000000000000000000000";

type Frame = Readonly<Record<string, unknown>> & { readonly op: string; readonly id?: number };

let platform: Platform;
beforeAll(async () => void (platform = await openPlatform()));
afterAll(() => platform[Symbol.asyncDispose]());

/** A client that keeps every frame that it gets. */
async function openSocket(
  { url }: { url: string },
  protocols = [SOCKET_PROTOCOL, `${SOCKET_TOKEN_PROTOCOL}${KEYS.acme}`],
) {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, protocols);
  const frames: Frame[] = [];
  socket.addEventListener("message", ({ data }) => void frames.push(JSON.parse(data as string) as Frame));
  const closed = once(socket, "close").then(([event]) => event as CloseEvent);
  await once(socket, "open");
  return {
    socket,
    frames,
    closed,
    send: (frame: object) => socket.send(JSON.stringify(frame)),
    /** Resolves with the first frame of a kind under an id. */
    frame: (op: string, id?: number) =>
      eventually(async () => {
        const found = frames.find((one) => one.op === op && (id === undefined || one.id === id));
        if (!found) throw new Error(`no ${op} of ${id} in ${JSON.stringify(frames).slice(0, 2_000)}`);
        return found;
      }),
    eventsOf: (id: number) =>
      frames.flatMap((one) =>
        one.op === "events" && one.id === id
          ? (one["events"] as { cursor: string; event: { seq: number; type: string } }[])
          : [],
      ),
    [Symbol.dispose]: () => socket.close(),
  };
}

function audioFrame({ id, stream, first }: { id: number; stream: number; first: number }, audio: Uint8Array) {
  const frame = Buffer.alloc(12 + audio.length);
  frame.writeUInt32BE(id, 0);
  frame.writeUInt32BE(stream, 4);
  frame.writeUInt32BE(first, 8);
  frame.set(audio, 12);
  return frame;
}

describe("one connection", () => {
  test("creates, follows and resumes many generations, each under an id of its own", async () => {
    using client = await openSocket(platform.node);
    client.send({ op: "create", id: 1, request: { model: "sim", input: "Hi" }, idempotency_key: "sockets" });
    const answer = await client.frame("answer", 1);
    expect(answer).toMatchObject({ status: 201, body: { object: "generation" } });
    const { ref, worker } = await createGeneration(platform);
    client.send({ op: "follow", id: 2, generation: ref.generation });
    await append(worker, started(), delta("a"), delta("b"));
    await eventually(async () => expect(client.eventsOf(2)).toHaveLength(3));
    const [, second] = client.eventsOf(2);
    client.send({ op: "follow", id: 3, generation: ref.generation, after: second!.cursor });
    await append(worker, completed());
    await client.frame("end", 2);
    await client.frame("end", 3);
    expect(client.eventsOf(2).map(({ event }) => event.seq)).toEqual([1, 2, 3, 4]);
    expect(client.eventsOf(3)).toEqual(client.eventsOf(2).slice(2));
  });

  test("follows what it creates, interrupts and cancels it", async () => {
    using client = await openSocket(platform.node);
    client.send({ op: "create", id: 1, request: { model: "sim", input: "Hi" }, follow: true });
    const { generation } = (await client.frame("open", 1)) as unknown as { generation: string };
    client.send({ op: "interrupt", id: 3, generation, heard: "0-0" });
    expect(await client.frame("answer", 3)).toMatchObject({ status: 200, body: { status: "queued" } });
    client.send({ op: "cancel", id: 2, generation, reason: "enough" });
    expect(await client.frame("answer", 2)).toMatchObject({ status: 200, body: { status: "cancelled" } });
    await client.frame("end", 1);
    expect(client.eventsOf(1).at(-1)!.event).toMatchObject({
      type: "generation.cancelled",
      reason: "enough",
    });
  });

  test("sends input and gets what is stored", async () => {
    using client = await openSocket(platform.node);
    client.send({ op: "create", id: 1, request: { model: "sim", input: { stream: { format: "text" } } } });
    const { body } = (await client.frame("answer", 1)) as unknown as { body: { id: string } };
    client.send({
      op: "input",
      id: 2,
      generation: body.id,
      first: 1,
      entries: [{ type: "input.delta", text: "a" }],
    });
    expect(await client.frame("answer", 2)).toMatchObject({ status: 200, body: { stored: 1, consumed: 0 } });
    client.send({ op: "input", id: 3, generation: body.id, first: 3, entries: [{ type: "input.end" }] });
    expect(await client.frame("answer", 3)).toMatchObject({
      status: 409,
      body: { error: { code: "input_gap" } },
    });
  });

  test("sends sound as bytes, for the generation of a stream", async () => {
    using client = await openSocket(platform.node);
    const input = { stream: { format: "audio/pcm;rate=16000;channels=1" } };
    client.send({ op: "create", id: 1, request: { model: "sim", input }, follow: true });
    const { generation } = (await client.frame("open", 1)) as unknown as { generation: string };
    const audio = Uint8Array.from({ length: 640 }, (_, i) => i);
    client.socket.send(audioFrame({ id: 2, stream: 1, first: 1 }, audio));
    expect(await client.frame("answer", 2)).toMatchObject({ status: 200, body: { stored: 1 } });
    const stop = new AbortController();
    const ref = { tenant: ACME, generation: parseGenerationId(generation) };
    const follow = { broker: platform.broker, ref, after: asSeq(0), signal: stop.signal, onError: () => {} };
    const { value: record } = await followInput(follow).next();
    stop.abort();
    expect(record).toMatchObject({ entry: { type: "input.audio", audio } });
    client.socket.send(audioFrame({ id: 3, stream: 9, first: 2 }, audio));
    expect(await client.frame("answer", 3)).toMatchObject({ status: 404 });
  });

  test("has the errors of the HTTP API", async () => {
    using client = await openSocket(platform.node);
    client.send({ op: "follow", id: 1, generation: "gen_0_none" });
    expect(await client.frame("answer", 1)).toMatchObject({
      status: 404,
      body: { error: { code: "generation_not_found" } },
    });
    client.send({ op: "create", id: 2, request: { model: "none", input: "Hi" } });
    expect(await client.frame("answer", 2)).toMatchObject({
      status: 404,
      body: { error: { code: "model_not_found" } },
    });
  });

  test("holds up one stream that is not confirmed, and no other", async () => {
    using client = await openSocket(platform.node);
    const [slow, fast] = [await createGeneration(platform), await createGeneration(platform)];
    client.send({ op: "follow", id: 1, generation: slow.ref.generation });
    client.send({ op: "follow", id: 2, generation: fast.ref.generation });
    const long = Array.from({ length: 40 }, () => delta("x".repeat(30_000)));
    for (const draft of [started(), ...long, completed()]) await append(slow.worker, draft);
    await append(fast.worker, started(), ...deltas(20), completed());
    await client.frame("end", 2);
    const before = client.eventsOf(1).length;
    expect(before).toBeLessThan(30);
    expect(client.frames.some(({ op, id }) => op === "end" && id === 1)).toBe(false);
    client.send({ op: "read", id: 1, sent: 10_000_000 });
    await client.frame("end", 1);
    expect(client.eventsOf(1)).toHaveLength(42);
  });

  test("leaves one stream, and is told of each place when the node drains", async () => {
    const other = await platform.addNode();
    using client = await openSocket(other);
    const [left, kept] = [await createGeneration(platform), await createGeneration(platform)];
    client.send({ op: "follow", id: 1, generation: left.ref.generation });
    client.send({ op: "follow", id: 2, generation: kept.ref.generation });
    await append(left.worker, started());
    await append(kept.worker, started());
    await eventually(async () =>
      expect([client.eventsOf(1).length, client.eventsOf(2).length]).toEqual([1, 1]),
    );
    client.send({ op: "leave", id: 1 });
    const metrics = async () => (await call(`${other.opsUrl}/metrics`)).text;
    await expect.poll(metrics).toContain("\nreprise_readers 1\n");
    client.send({ op: "follow", id: 1, generation: left.ref.generation });
    await eventually(async () => expect(client.eventsOf(1)).toHaveLength(2));
    const after = client.eventsOf(2).at(-1)!.cursor;
    client.send({ op: "follow", id: 3, generation: kept.ref.generation, after });
    await client.frame("open", 3);
    other.delivery.drain();
    const { cursors } = (await client.frame("drain")) as unknown as { cursors: object };
    expect(cursors).toEqual({
      3: after,
      1: client.eventsOf(1).at(-1)!.cursor,
      2: client.eventsOf(2).at(-1)!.cursor,
    });
    expect((await client.closed).code).toBe(4503);
  });
});

describe("one stream", () => {
  test("is broken off with its error when its key is revoked, and no later call is answered", async () => {
    await using revoking = await openPlatform({ liveTenants: true });
    using client = await openSocket(revoking.node, [
      SOCKET_PROTOCOL,
      `${SOCKET_TOKEN_PROTOCOL}${KEYS.acmeReader}`,
    ]);
    const { ref, worker } = await createGeneration(revoking);
    client.send({ op: "follow", id: 1, generation: ref.generation });
    await append(worker, started());
    await eventually(async () => expect(client.eventsOf(1)).toHaveLength(1));
    await revoking.node.tenants!.store.update(ACME, (present) => ({
      ...present,
      keys: present.keys.filter(({ sha256 }) => sha256 !== hashKey(KEYS.acmeReader)),
    }));
    expect(await client.frame("broken", 1)).toMatchObject({
      cursor: client.eventsOf(1)[0]!.cursor,
      error: { code: "unauthenticated" },
    });
    client.send({ op: "follow", id: 2, generation: ref.generation });
    expect(await client.frame("answer", 2)).toMatchObject({ status: 401 });
    client.send({ op: "auth", token: KEYS.acme });
    client.send({ op: "follow", id: 3, generation: ref.generation });
    await eventually(async () => expect(client.eventsOf(3)).toHaveLength(1));
  });

  test("whose id is used again at once is not taken for the earlier one", async () => {
    using client = await openSocket(platform.node);
    const [first, second] = [await createGeneration(platform), await createGeneration(platform)];
    client.send({ op: "follow", id: 1, generation: first.ref.generation });
    client.send({ op: "leave", id: 1 });
    client.send({ op: "follow", id: 1, generation: second.ref.generation });
    expect(await client.frame("open", 1)).toMatchObject({ generation: second.ref.generation });
    await append(second.worker, started(), completed());
    await client.frame("end", 1);
    expect(client.frames.filter(({ op }) => op === "open")).toHaveLength(1);
  });

  test("of another tenant is answered like a missing one", async () => {
    const { ref } = await createGeneration(platform, { key: KEYS.beta });
    using client = await openSocket(platform.node);
    client.send({ op: "follow", id: 1, generation: ref.generation });
    client.send({ op: "cancel", id: 2, generation: ref.generation });
    client.send({ op: "follow", id: 3, generation: ABSENT });
    const [foreign, cancel, absent] = await Promise.all([1, 2, 3].map((id) => client.frame("answer", id)));
    expect(foreign).toEqual({ ...absent, id: 1 });
    expect(cancel).toMatchObject({ status: 404 });
  });
});

test("a client that sends more calls than are answered at a time gets each answer", async () => {
  using client = await openSocket(platform.node);
  for (let id = 1; id <= 300; id++) {
    client.send({ op: "follow", id, generation: ABSENT });
    client.send({ op: "read", id: 900, sent: 1 });
  }
  await eventually(async () => expect(client.frames.filter(({ op }) => op === "answer")).toHaveLength(300));
  expect(new Set(client.frames.map(({ id }) => id)).size).toBe(301);
});

test("a large call that is refused is answered", async () => {
  using client = await openSocket(platform.node);
  const input = "x".repeat(200_000);
  client.send({ op: "create", id: 1, request: { model: "none", input } });
  expect(await client.frame("answer", 1)).toMatchObject({ status: 404 });
  client.send({ op: "auth", token: "rk_unknown" });
  client.send({ op: "create", id: 2, request: { model: "sim", input } });
  expect(await client.frame("answer", 2)).toMatchObject({ status: 401 });
});

test("no frame ends the node, though its call waits for others", async () => {
  using hostile = await openSocket(platform.node);
  for (let id = 1; id <= 40; id++) hostile.send({ op: "follow", id, generation: ABSENT });
  hostile.send({ op: "follow", id: 99, generation: "\ud800" });
  expect(await hostile.closed).toMatchObject({ code: 4400 });
  expect((await call(`${platform.node.url}/v1/models`)).status).toBe(200);
});

test("a client that reads nothing is read no further, once a MiB waits for it", async () => {
  const socket = new UnreadSocket();
  const options = {
    app: { inject: () => undefined },
    socket,
    remoteAddress: "::1",
    draining: new AbortController().signal,
  };
  const session = new SocketSession({ ...options, authorization: "Bearer x" } as unknown as SessionOptions);
  session.begin();
  for (let id = 1; !socket.isPaused; id++) {
    socket.emit("message", audioFrame({ id, stream: 9, first: 1 }, Uint8Array.of(7)), true);
    await new Promise(setImmediate);
    expect(id).toBeLessThan(20_000);
  }
  expect(socket.bufferedAmount).toBeLessThan(1_100_000);
  socket.emit("close");
});

/** A connection of which nothing is read at the other end. */
class UnreadSocket extends EventEmitter {
  readonly OPEN = 1;
  readonly readyState = 1;
  bufferedAmount = 0;
  isPaused = false;

  send(frame: string): void {
    this.bufferedAmount += frame.length;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }
}

test("other upgrades are ignored, and other subprotocols and plain calls are refused", async () => {
  const { url } = platform.node;
  const h2c = ["connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABk"];
  const post = ["content-type: application/json", `authorization: Bearer ${KEYS.acme}`];
  const body = JSON.stringify({ model: "sim", input: "Hi" });
  for (const upgrade of [h2c, ["connection: upgrade", "upgrade: websocket"]]) {
    await using raw = await openRawConnection(url);
    const head = [
      "POST /v1/generations HTTP/1.1",
      "host: test",
      ...upgrade,
      ...post,
      `content-length: ${body.length}`,
    ];
    raw.send(`${head.join("\r\n")}\r\n\r\n${body}`);
    await raw.until("HTTP/1.1 201");
  }
  expect((await call(`${url}/v1/ws`)).status).toBe(400);
  const other = new WebSocket(`${url.replace("http", "ws")}/v1/ws`);
  const [{ code }] = (await once(other, "close")) as [CloseEvent];
  expect(code).toBe(1002);
});

describe("a connection is closed", () => {
  test.each([
    [{ op: "dance" }, 4400, "op"],
    [{ op: "follow", id: 0, generation: "g" }, 4400, "id"],
    ["{", 4400, "JSON"],
    [new Uint8Array(12), 4400, "binary"],
    [new Uint8Array(13), 4400, "id"],
    [{ op: "auth", token: "" }, 4400, "token"],
    [{ op: "input", id: 1, generation: "g", first: 1.5, entries: [] }, 4400, "first"],
  ])("for the frame %j", async (frame, code, reason) => {
    using client = await openSocket(platform.node);
    if (frame instanceof Uint8Array) client.socket.send(frame);
    else if (typeof frame === "string") client.socket.send(frame);
    else client.send(frame);
    expect(await client.closed).toMatchObject({ code, reason: expect.stringContaining(reason) as string });
  });

  test("for a frame before a key, and takes the key of the first frame", async () => {
    using early = await openSocket(platform.node, [SOCKET_PROTOCOL]);
    early.send({ op: "follow", id: 1, generation: "gen_0_none" });
    expect((await early.closed).code).toBe(4401);
    using client = await openSocket(platform.node, [SOCKET_PROTOCOL]);
    client.send({ op: "auth", token: KEYS.acme });
    client.send({ op: "create", id: 1, request: { model: "sim", input: "Hi" } });
    expect(await client.frame("answer", 1)).toMatchObject({ status: 201 });
    client.send({ op: "create", id: 2, request: { model: "sim", input: "Hi" }, follow: true });
    client.send({ op: "create", id: 2, request: { model: "sim", input: "Hi" } });
    expect((await client.closed).code).toBe(4409);
  });
});
