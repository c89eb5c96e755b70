import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { openSseReader } from "@reprise/testkit";
import { afterAll, describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  JSON_TYPE,
  REQUEST,
  started,
} from "../testing/platform.ts";
import { openTlsPlatform } from "../testing/tls-platform.ts";

const world = await openTlsPlatform();
const { certificates, ca, platform, addNode } = world;
afterAll(() => world[Symbol.asyncDispose]());

interface Connection extends AsyncDisposable {
  readonly session: ClientHttp2Session;
  /** Resolves when the connection has closed, with the code of the GOAWAY that it had. */
  readonly closed: Promise<number | undefined>;
}

function open(url: string): Connection {
  const session = connect(url, { ca });
  session.on("error", () => {});
  let code: number | undefined;
  session.on("goaway", (given) => (code = given));
  const closed = new Promise<number | undefined>((resolve) => session.once("close", () => resolve(code)));
  return { session, closed, [Symbol.asyncDispose]: async () => session.destroy() };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** True if the answer is complete. */
  readonly isWhole: boolean;
}

/** Reads a stream's answer to its end. */
async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  let [status, text, hasEnded] = [0, "", false];
  stream.on("response", (headers) => (status = headers[":status"] ?? 0));
  stream.on("data", (chunk) => (text += String(chunk)));
  stream.on("end", () => (hasEnded = true));
  stream.on("error", () => {});
  await new Promise((resolve) => stream.once("close", resolve));
  return { status, text, isWhole: hasEnded && stream.rstCode === 0 };
}

const get = ({ session }: Connection, path: string, headers: OutgoingHttpHeaders = {}) =>
  session.request({ ":path": path, ...authorization(), ...headers });
const eventsOf = (connection: Connection, path: string) =>
  get(connection, `${path}/events`, { accept: "text/event-stream" });

function curlStream(url: string) {
  const trust = ["--cacert", certificates.ca, "-H", `authorization: ${authorization().authorization}`];
  return promisify(execFile)("curl", ["-sS", "-N", "--http2", ...trust, "-w", "HTTP/%{http_version}", url]);
}

describe("over HTTP/2", () => {
  test("an application has more streams than a browser has connections, with the bytes of HTTP/1.1", async () => {
    await using node = await addNode();
    await using connection = open(node.url);
    const { path, worker } = await createGeneration(platform);
    const answers = Array.from({ length: 20 }, () => answerOf(eventsOf(connection, path)));
    await append(worker, started(), delta("tøken"), completed());
    await using reader = await openSseReader(`${node.url}${path}/events`, { headers: authorization(), ca });
    await reader.ended;
    for (const answer of await Promise.all(answers))
      expect(answer).toEqual({ status: 200, text: reader.bytes.toString(), isWhole: true });
  });

  test("calls are answered as over HTTP/1.1, with bodies that say how long they are and bodies that do not", async () => {
    await using node = await addNode();
    await using connection = open(node.url);
    const post = (headers: OutgoingHttpHeaders, body: string) => {
      const stream = get(connection, "/v1/generations", { ":method": "POST", ...JSON_TYPE, ...headers });
      stream.end(body);
      return answerOf(stream);
    };
    const body = JSON.stringify(REQUEST);
    expect((await post({ "content-length": body.length }, body)).status).toBe(201);
    expect((await post({}, body)).status).toBe(201);
    expect((await post({}, "x".repeat(2_000_000))).status).toBe(413);
    expect((await post({ "content-length": 2_000_000 }, "x".repeat(2_000_000))).status).toBe(413);
    expect((await post({}, "{")).status).toBe(400);
    expect((await post({ authorization: "" }, body)).status).toBe(401);
    expect((await answerOf(get(connection, "/nothing"))).status).toBe(404);
    const proxied = await answerOf(
      connection.session.request({ ":method": "CONNECT", ":authority": "a:1" }, { endStream: true }),
    );
    expect(proxied).toMatchObject({
      status: 405,
      text: expect.stringContaining("method_not_allowed"),
      isWhole: true,
    });
    const metrics = async () => (await call(`${node.opsUrl}/metrics`)).text;
    await expect.poll(metrics).toMatch(/^reprise_request_bytes 0$/m);
    await expect.poll(metrics).toMatch(/^reprise_http_requests_in_flight\{service="delivery"\} 0$/m);
  });

  test("a stream that is broken off never looks like one that has ended; the connection takes no more (GOAWAY)", async () => {
    await using node = await addNode();
    await using connection = open(node.url);
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("one"));
    const stream = eventsOf(connection, path);
    const answer = answerOf(stream);
    await once(stream, "data");
    const readers = async () => (await call(`${node.opsUrl}/metrics`)).text;
    const curl = curlStream(`${node.url}${path}/events`);
    curl.catch(() => {});
    await expect.poll(readers).toMatch(/^reprise_readers 2$/m);
    node.delivery.drain();
    expect([(await answer).isWhole, stream.rstCode]).toEqual([false, constants.NGHTTP2_INTERNAL_ERROR]);
    // Node's client throws away what came together with a reset.
    await expect(curl).rejects.toMatchObject({
      stdout: expect.stringMatching(/"one"[^]*\nretry: \d+\nHTTP\/2$/),
    });
    expect(await connection.closed).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("a reader that leaves is forgotten", async () => {
    await using node = await addNode();
    await using connection = open(node.url);
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const stream = eventsOf(connection, path);
    stream.on("error", () => {});
    await once(stream, "data");
    const readers = async () =>
      /^reprise_readers (\d+)$/m.exec((await call(`${node.opsUrl}/metrics`)).text)?.[1];
    expect(await readers()).toBe("1");
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(readers).toBe("0");
    const metrics = async () => (await call(`${node.opsUrl}/metrics`)).text;
    await expect.poll(metrics).toMatch(/^reprise_http_requests_in_flight\{service="delivery"\} 0$/m);
  });

  test("a stream that is not read holds up neither the others of its connection nor the hub", async () => {
    await using node = await addNode({ hubBytes: 1 });
    await using connection = open(node.url);
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const slow = eventsOf(connection, path);
    await once(slow, "response");
    const block = "x".repeat(200_000);
    await append(worker, ...Array.from({ length: 20 }, () => delta(block)), completed());
    expect((await answerOf(get(connection, path, { accept: "application/json" }))).status).toBe(200);
    // A sweep takes from memory what no reader keeps up with.
    const inMemory = async () =>
      Number(/^reprise_hub_memory_bytes (\d+)/m.exec((await call(`${node.opsUrl}/metrics`)).text)?.[1]);
    await expect.poll(inMemory).toBeLessThan(1_000_000);
    const { text, isWhole } = await answerOf(slow);
    expect([text.length > 4_000_000, isWhole]).toEqual([true, true]);
    expect((await call(`${node.opsUrl}/metrics`)).text).toMatch(/^reprise_readers_fallen_back_total [1-9]/m);
  });

  test.each([
    ["nothing", ""],
    ["half of the preface", "PRI * HTTP/2.0\r\n"],
    // A HEADERS frame of 100 bytes, without END_HEADERS, of which 1 byte comes.
    [
      "half of its headers",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x64\x01\0\0\0\0\x01\x82",
    ],
  ])("a connection that sends %s in time is closed", async (_name, bytes) => {
    await using node = await addNode({ arrivalMs: 1_000 });
    const { port } = new URL(node.url);
    const socket = connectTls({ host: "127.0.0.1", port: Number(port), ca, ALPNProtocols: ["h2"] });
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume().write(bytes, "latin1");
    await closed;
  });

  test("a request whose body does not arrive in time is cut off, and its connection lives on", async () => {
    await using node = await addNode({ arrivalMs: 5_000 });
    await using connection = open(node.url);
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const reader = eventsOf(connection, path);
    await once(reader, "data");
    const stream = get(connection, "/v1/generations", {
      ":method": "POST",
      ...JSON_TYPE,
      "content-length": 9,
    });
    stream.write("{");
    expect((await answerOf(stream)).isWhole).toBe(false);
    expect((await answerOf(get(connection, "/nothing"))).status).toBe(404);
    expect(reader.closed).toBe(false);
  });

  test("a connection has a bounded number of streams, and is closed when its client resets them too fast", async () => {
    await using node = await addNode();
    await using connection = open(node.url);
    await once(connection.session, "remoteSettings");
    expect(connection.session.remoteSettings.maxConcurrentStreams).toBe(128);
    for (let round = 0; round < 10_000 && !connection.session.destroyed; round++) {
      const streams = Array.from({ length: 20 }, () =>
        connection.session.request({ ":path": "/nothing" }, { endStream: false }),
      );
      for (const stream of streams) stream.on("error", () => {});
      await turn();
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      await turn();
    }
    expect(await connection.closed).not.toBe(constants.NGHTTP2_NO_ERROR);
    await using other = open(node.url);
    expect((await answerOf(get(other, "/nothing"))).status).toBe(404);
  });

  test("a node that closes sends its answers first, and then waits for no idle connection", async () => {
    const node = await addNode({ drainGraceMs: 3_600_000 });
    await using connection = open(node.url);
    expect((await answerOf(get(connection, "/nothing"))).status).toBe(404);
    await node.delivery.close();
    expect(await connection.closed).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test("curl reads a stream", async () => {
    await using node = await addNode();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), completed());
    const { stdout } = await curlStream(`${node.url}${path}/events`);
    expect(stdout).toMatch(/id: 1-1\n[^]*id: 1-2\n[^]*HTTP\/2$/);
  });
});
