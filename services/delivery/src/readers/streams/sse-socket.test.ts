import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSseSocket } from "./sse-socket.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

/** A response that has begun, and its client, which has not read anything yet. */
async function openResponse() {
  await using stack = new AsyncDisposableStack();
  const server = createServer();
  stack.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const answering = once(server, "request");
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  stack.defer(() => void client.destroy());
  client.on("error", () => {});
  client.pause();
  client.write("GET / HTTP/1.1\r\nhost: reprise\r\n\r\n");
  const [, response] = (await answering) as [unknown, ServerResponse];
  const taken = response.socket!;
  const running = stack.move();
  return { client, taken, response, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** More than any kernel buffers for a connection that is not read. */
const MUCH = "x".repeat(32 * 1_024 * 1_024);

/** Resolves when the socket is closed, be it by an error. */
const closed = (socket: Socket) => new Promise<void>((resolve) => void socket.once("close", () => resolve()));

test("a reader that is broken off and does not read is cut", async () => {
  await using opened = await openResponse();
  const stream = openSseSocket(opened.response, 200, {});
  expect(stream.writeText(MUCH)).toBe(false);
  const cut = closed(opened.taken);
  stream.breakOff();
  await vi.advanceTimersByTimeAsync(1_900);
  expect([opened.taken.destroyed, opened.taken.writableLength > 0]).toEqual([false, true]);
  await vi.advanceTimersByTimeAsync(200);
  expect(opened.taken.destroyed).toBe(true);
  await cut;
});

test("a reader that is broken off and reads gets its last bytes, and no clean end", async () => {
  await using opened = await openResponse();
  const stream = openSseSocket(opened.response, 200, {});
  stream.writeText("retry: 100\n");
  let bytes = "";
  opened.client.on("data", (chunk: Buffer) => (bytes += chunk.toString()));
  opened.client.resume();
  const cut = closed(opened.client);
  stream.breakOff();
  await cut;
  expect(bytes).toContain("retry: 100\n");
  expect(bytes).not.toContain("0\r\n\r\n");
  expect(vi.getTimerCount()).toBe(0);
});
