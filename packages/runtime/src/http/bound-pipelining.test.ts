import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { boundPipelining, MAX_UNANSWERED } from "./bound-pipelining.ts";
import { listenHttp } from "./listen-http.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

async function openServer(listener: (response: ServerResponse) => void): Promise<{
  client: Socket;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const server: Server = createServer((_request, response) => listener(response));
  boundPipelining(server);
  const { port } = new URL(await listenHttp(server, { host: "127.0.0.1", port: 0 }));
  const client = connect(Number(port), "127.0.0.1");
  client.on("error", () => {});
  await once(client, "connect");
  const dispose = async () => {
    client.destroy();
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { client, [Symbol.asyncDispose]: dispose };
}

test("breaks off a connection with too many unanswered requests, and begins with none after them", async () => {
  let begun = 0;
  await using opened = await openServer(() => (begun += 1));
  const closed = new Promise((resolve) => opened.client.once("close", resolve));
  opened.client.resume().write(REQUEST.repeat(5_000));
  await closed;
  expect(begun).toBe(MAX_UNANSWERED);
});

test("answers as many requests at once as may be unanswered, again and again", async () => {
  await using opened = await openServer((response) => setImmediate(() => response.end("answer")));
  const { client } = opened;
  let text = "";
  client.setEncoding("utf8").on("data", (data: string) => (text += data));
  for (const round of [1, 2, 3]) {
    client.write(REQUEST.repeat(MAX_UNANSWERED));
    while (text.split("answer").length - 1 < round * MAX_UNANSWERED) await once(client, "data");
  }
  expect(text.match(/HTTP\/1.1 200/g)).toHaveLength(3 * MAX_UNANSWERED);
});
