import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type ConnectionFaults, startTcpProxy } from "./tcp-proxy.ts";

afterEach(() => void vi.useRealTimers());

/** A server that hands out its sockets, a proxy with these faults before it, and one client that is connected through the proxy. */
async function connectThrough(
  faults: ConnectionFaults | ((index: number) => ConnectionFaults) = {},
  random: () => number = Math.random,
) {
  // These tests cause errors on purpose: those that matter are checked where they do.
  const server = createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const target = { port: (server.address() as AddressInfo).port };
  const atProxy = new EventEmitter();
  const tap = () => ({ toServer() {}, toClient: () => void atProxy.emit("bytes") });
  const proxy = await startTcpProxy({ target, faults, random, tap });
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const made = proxy.nextConnection();
  const client = connect({ port: proxy.port, host: proxy.host, allowHalfOpen: true });
  const [[serverSocket], connection] = await Promise.all([accepted, made]);
  client.on("error", () => {});
  const dispose = async () => {
    await proxy[Symbol.asyncDispose]();
    client.destroy();
    serverSocket.destroy();
    server.close();
    await once(server, "close");
  };
  return { proxy, connection, client, server: serverSocket, atProxy, [Symbol.asyncDispose]: dispose };
}

/** Resolves when the socket is closed, be it by an error: `once` would reject for that. */
const closed = (socket: Socket) => new Promise<void>((resolve) => void socket.on("close", () => resolve()));

/** Everything until the connection is reset. */
async function readUntilReset(socket: Socket): Promise<{ text: string; code: string | undefined }> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => void socket.on("error", resolve));
  return { text: Buffer.concat(chunks).toString(), code: error.code };
}

/** Time then passes by `isHeldFor` alone. */
const stopClock = () => vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });

type Link = Awaited<ReturnType<typeof connectThrough>>;

/** Resolves when what the server writes has come to the proxy. */
async function writeToProxy({ server, atProxy }: Link, bytes: string): Promise<void> {
  const came = once(atProxy, "bytes");
  server.write(bytes);
  await came;
}

/** Expects that the proxy holds back what has come from the server, and for exactly so long. */
async function isHeldFor(ms: number, { connection }: Link): Promise<void> {
  const before = connection.bytesToClient;
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect([vi.getTimerCount(), connection.bytesToClient]).toEqual([1, before]);
  await vi.advanceTimersByTimeAsync(1);
  expect(vi.getTimerCount()).toBe(0);
}

const read = async (socket: Socket) => String((await once(socket, "data"))[0]);

describe("a connection through the proxy", () => {
  test("carries both directions and their ends unchanged when nothing is wrong", async () => {
    await using link = await connectThrough();
    link.client.end("question");
    expect(await text(link.server)).toBe("question");
    link.server.end("answer");
    expect(await text(link.client)).toBe("answer");
    expect([link.connection.bytesToServer, link.connection.bytesToClient]).toEqual([8, 6]);
  });

  test("carries much more than it holds in memory", async () => {
    await using link = await connectThrough();
    link.server.end("x".repeat(20_000_000));
    expect((await text(link.client)).length).toBe(20_000_000);
  });

  test.each([1, 5, 1_000])(
    "is reset for both ends after exactly %i bytes to the client",
    async (cutAfterBytes) => {
      await using link = await connectThrough({ toClient: { cutAfterBytes } });
      const serverClosed = closed(link.server);
      const received = readUntilReset(link.client);
      link.server.write("0123456789".repeat(200));
      expect(await received).toEqual({
        text: "0123456789".repeat(200).slice(0, cutAfterBytes),
        code: "ECONNRESET",
      });
      await serverClosed;
    },
  );

  test("is reset after exactly so many bytes to the server", async () => {
    await using link = await connectThrough({ toServer: { cutAfterBytes: 3 } });
    const received = readUntilReset(link.server);
    link.client.write("abcdef");
    expect(await received).toEqual({ text: "abc", code: "ECONNRESET" });
  });

  test("counts the bytes until a cut over all of its life, also when the cut is asked for later", async () => {
    await using link = await connectThrough();
    link.server.write("abc");
    expect(await read(link.client)).toBe("abc");
    link.connection.setFaults({ toClient: { cutAfterBytes: 5 } });
    const received = readUntilReset(link.client);
    link.server.write("defg");
    expect((await received).text).toBe("de");
  });

  test("is reset at once on command", async () => {
    await using link = await connectThrough();
    const ends = Promise.all([readUntilReset(link.client), readUntilReset(link.server)]);
    link.proxy.cutNow();
    expect(await ends).toEqual([
      { text: "", code: "ECONNRESET" },
      { text: "", code: "ECONNRESET" },
    ]);
    expect(link.proxy.connections).toEqual([]);
  });

  test("passes a reset of one end on to the other", async () => {
    await using link = await connectThrough();
    const received = readUntilReset(link.client);
    link.server.resetAndDestroy();
    expect(await received).toEqual({ text: "", code: "ECONNRESET" });
  });

  test("loses what a dropped direction carries, and nothing of the other", async () => {
    await using link = await connectThrough({ toClient: { dropped: true } });
    link.client.write("publish");
    expect(await read(link.server)).toBe("publish");
    link.server.write("lost ack");
    link.server.end();
    expect(await text(link.client)).toBe("");
    expect(link.connection.bytesToClient).toBe(0);
  });

  test("holds everything back while it is stalled, and continues when it is healed", async () => {
    await using link = await connectThrough({ toClient: { stalled: true } });
    link.server.end("late");
    link.client.write("ping");
    // The other direction still works, which proves that time has passed.
    expect(await read(link.server)).toBe("ping");
    expect(link.connection.bytesToClient).toBe(0);
    link.connection.setFaults({});
    expect(await text(link.client)).toBe("late");
  });

  test("arrives late by its latency", async () => {
    stopClock();
    await using link = await connectThrough({ toClient: { latencyMs: 50 } });
    const received = read(link.client);
    await writeToProxy(link, "a");
    await isHeldFor(50, link);
    expect(await received).toBe("a");
  });

  test("arrives late by its jitter, and in order all the same", async () => {
    stopClock();
    const draws = [0.9, 0];
    await using link = await connectThrough({ toClient: { jitterMs: 50 } }, () => draws.shift() ?? 0);
    await writeToProxy(link, "a");
    await writeToProxy(link, "b");
    link.server.end();
    const received = text(link.client);
    await isHeldFor(45, link);
    expect(await received).toBe("ab");
  });

  test("arrives whole in slices of one byte", async () => {
    await using link = await connectThrough({ toClient: { sliceBytes: 1 } });
    let slices = 0;
    link.client.on("data", () => slices++);
    link.server.end("für alle: 🎉");
    expect(await text(link.client)).toBe("für alle: 🎉");
    expect(slices).toBeGreaterThan(1);
  });
});

describe("the proxy", () => {
  test("gives each connection the faults that are meant for it", async () => {
    await using link = await connectThrough((index) =>
      index === 0 ? { toClient: { cutAfterBytes: 1 } } : {},
    );
    expect(link.connection.index).toBe(0);
    const made = link.proxy.nextConnection();
    const second = connect(link.proxy.port, link.proxy.host).on("error", () => {});
    expect((await made).index).toBe(1);
    const received = readUntilReset(link.client);
    link.server.write("ab");
    expect((await received).text).toBe("a");
    expect(link.proxy.connections.map(({ index }) => index)).toEqual([1]);
    second.destroy();
  });

  test("resets a client when there is nothing after it", async () => {
    const nobody = createServer().listen(0, "127.0.0.1");
    await once(nobody, "listening");
    const { port } = nobody.address() as AddressInfo;
    nobody.close();
    await once(nobody, "close");
    await using proxy = await startTcpProxy({ target: { port } });
    expect((await readUntilReset(connect(proxy.port, proxy.host))).code).toBe("ECONNRESET");
  });
});
