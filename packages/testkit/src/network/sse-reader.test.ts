import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { openSseReader } from "./sse-reader.ts";

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dispose = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    [Symbol.asyncDispose]: dispose,
  };
}

const SSE = { "content-type": "text/event-stream" };

describe("the event stream reader", () => {
  test("gives the frames, the raw bytes and a clean end", async () => {
    const body = ": ping\nid: 1-1\ndata: a\n\nid: 1-2\ndata: b\n\n";
    await using target = await serve((_, response) => response.writeHead(200, SSE).end(body));
    await using reader = await openSseReader(target.url);
    expect(await reader.ended).toBe("clean");
    expect(reader.frames.map(({ id, data }) => [id, data])).toEqual([
      ["1-1", "a"],
      ["1-2", "b"],
    ]);
    expect(reader.bytes.toString()).toBe(body);
    expect([reader.status, reader.headers["content-type"], reader.lastEventId]).toEqual([
      200,
      "text/event-stream",
      "1-2",
    ]);
  });

  test("hands out frames one by one while they come, then undefined", async () => {
    await using target = await serve((_, response) => {
      response.writeHead(200, SSE).write("data: a\n\nda");
      target.server.once("next", () => response.end("ta: b\n\n"));
    });
    await using reader = await openSseReader(target.url);
    expect((await reader.nextFrame())?.data).toBe("a");
    const second = reader.nextFrame();
    target.server.emit("next");
    expect((await second)?.data).toBe("b");
    expect(await reader.nextFrame()).toBeUndefined();
  });

  test("can be iterated to its end", async () => {
    await using target = await serve((_, response) =>
      response.writeHead(200, SSE).end("data: a\n\ndata: b\n\n"),
    );
    await using reader = await openSseReader(target.url);
    const data: string[] = [];
    for await (const frame of reader) data.push(frame.data);
    expect(data).toEqual(["a", "b"]);
  });

  test("tells a broken end from a clean one", async () => {
    await using target = await serve((_, response) => {
      response.writeHead(200, SSE).write("data: a\n\n", () => response.destroy());
    });
    await using reader = await openSseReader(target.url);
    expect(await reader.ended).toBe("broken");
    expect(reader.frames).toHaveLength(1);
  });

  test("cuts the connection so that the server sees it break", async () => {
    const { promise: serverSaw, resolve } = Promise.withResolvers<unknown>();
    await using target = await serve((request, response) => {
      request.socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
      response.writeHead(200, SSE).write("data: a\n\n");
    });
    await using reader = await openSseReader(target.url);
    await reader.nextFrame();
    reader.cut();
    expect(await reader.ended).toBe("cut");
    expect(await reader.nextFrame()).toBeUndefined();
    expect(await serverSaw).toBe("ECONNRESET");
  });

  test("takes nothing from the server while it is paused", async () => {
    await using target = await serve((_, response) => response.writeHead(200, SSE).flushHeaders());
    target.server.on(
      "request",
      (_, response) => void target.server.once("next", () => response.end("data: a\n\n")),
    );
    await using reader = await openSseReader(target.url);
    reader.pause();
    target.server.emit("next");
    // Another connection has come and gone since.
    await using other = await openSseReader(target.url);
    target.server.emit("next");
    await other.ended;
    expect(reader.frames).toEqual([]);
    reader.resume();
    expect(await reader.ended).toBe("clean");
    expect(reader.frames).toHaveLength(1);
  });

  test("sends the cursor, headers and body it was given", async () => {
    await using target = await serve((request, response) => {
      const { method, url, headers } = request;
      void text(request).then((body) => {
        const seen = [
          method,
          url,
          headers["last-event-id"],
          headers.authorization,
          headers["content-type"],
          body,
        ];
        response.writeHead(200, SSE).end(`data: ${JSON.stringify(seen)}\n\n`);
      });
    });
    await using reader = await openSseReader(`${target.url}/v1?wait=1`, {
      method: "POST",
      after: "1-7",
      lastEventId: "1-6",
      headers: { authorization: "Bearer k" },
      body: { model: "sim" },
    });
    const frame = await reader.nextFrame();
    expect(JSON.parse(frame!.data)).toEqual([
      "POST",
      "/v1?wait=1&after=1-7",
      "1-6",
      "Bearer k",
      "application/json",
      '{"model":"sim"}',
    ]);
  });

  test("opens with any status, and rejects when there is no response at all", async () => {
    await using target = await serve((_, response) => response.writeHead(503).end("no"));
    await using reader = await openSseReader(target.url);
    expect([reader.status, await reader.ended, reader.bytes.toString()]).toEqual([503, "clean", "no"]);
    await using deaf = await serve((request) => request.socket.destroy());
    await expect(openSseReader(deaf.url)).rejects.toMatchObject({ code: "ECONNRESET" });
  });
});
