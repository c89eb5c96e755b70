import { startChild } from "../../children/child.ts";
import { createTarget, type RunningTarget } from "../target.ts";

/** Durable Streams' reference server: a producer that appends over HTTP, and one process that stores and serves. */
export async function startDurableStreams(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startChild({ name: "server", script: new URL("./server.ts", import.meta.url) }),
  );
  const port = await server.call<number>("listen");
  const args = [`http://127.0.0.1:${port}`];
  const producer = stack.use(
    await startChild({ name: "producer", script: new URL("./producer.ts", import.meta.url), args }),
  );
  return createTarget({
    processes: [
      { role: "producer", pid: producer.pid },
      { role: "server", pid: server.pid },
    ],
    deliveryRole: "server",
    producer,
    readerOf: (id) => ({ transport: "sse", port, path: `/${id}?offset=-1&live=sse`, headers: {} }),
    stack: stack.move(),
  });
}
