import { on } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { authorization, openPlatform } from "../../services/delivery/src/testing/platform.ts";

/*
 * A node for `@durable-streams/server-conformance-tests`, which sends no key: a listener in front of it adds one. Run it, and in an empty folder:
 *
 *   npm install @durable-streams/server-conformance-tests@0.3.6
 *   echo 'import { runConformanceTests as run } from "@durable-streams/server-conformance-tests";
 *     run({ baseUrl: "http://127.0.0.1:4437", longPollTimeoutMs: 35_000 });' > streams.test.mjs
 *   npx vitest run --testTimeout=40000
 */
const PORT = 4_437;

const platform = await openPlatform();
const { hostname: host, port } = new URL(platform.node.url);
const listener = createServer().listen(PORT, "127.0.0.1", () =>
  process.stdout.write(`http://127.0.0.1:${PORT}\n`),
);
for await (const [incoming, outgoing] of on(listener, "request") as AsyncIterable<
  [IncomingMessage, ServerResponse]
>)
  void forward(incoming, outgoing).catch(() => outgoing.destroy());

async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method, url: path } = incoming;
  const key = method === "OPTIONS" ? {} : authorization();
  const body = await buffer(incoming);
  const forwarded = request(
    { host, port, method, path, headers: { ...incoming.headers, ...key } },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders).flushHeaders();
      answer.pipe(outgoing);
    },
  );
  forwarded.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forwarded.destroy());
  forwarded.end(body);
}
