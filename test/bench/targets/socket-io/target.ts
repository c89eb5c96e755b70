import { startChild } from "../../children/child.ts";
import { startBenchRedis } from "../bench-redis.ts";
import { createTarget, type RunningTarget } from "../target.ts";

/** Socket.IO with the redis-streams adapter: a node that emits, Redis Streams, a node that serves clients over WebSocket. */
export async function startSocketIo({ redis: binary }: { redis: string }): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startBenchRedis(binary));
  const args = [redis.url];
  const producer = stack.use(
    await startChild({ name: "producer", script: new URL("./producer.ts", import.meta.url), args }),
  );
  const server = stack.use(
    await startChild({ name: "server", script: new URL("./server.ts", import.meta.url), args }),
  );
  const port = await server.call<number>("listen");
  return createTarget({
    processes: [
      { role: "producer", pid: producer.pid },
      { role: "redis", pid: redis.pid },
      { role: "server", pid: server.pid },
    ],
    deliveryRole: "server",
    // Connection state recovery replays to a client that was there before; one that comes late gets nothing.
    replays: false,
    producer,
    readerOf: (id) => ({ transport: "socket.io", url: `http://127.0.0.1:${port}`, room: id }),
    stack: stack.move(),
  });
}
