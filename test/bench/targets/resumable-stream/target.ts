import { startChild } from "../../children/child.ts";
import { startBenchRedis } from "../bench-redis.ts";
import { createTarget, type RunningTarget } from "../target.ts";

/** Vercel's resumable-stream: a producer process, Redis publish and subscribe, a process that serves readers. */
export async function startResumableStream({ redis: binary }: { redis: string }): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startBenchRedis(binary));
  const env = { REDIS_URL: redis.url };
  const producer = stack.use(
    await startChild({ name: "producer", script: new URL("./producer.ts", import.meta.url), env }),
  );
  const server = stack.use(
    await startChild({ name: "server", script: new URL("./server.ts", import.meta.url), env }),
  );
  const port = await server.call<number>("listen");
  return createTarget({
    processes: [
      { role: "producer", pid: producer.pid },
      { role: "redis", pid: redis.pid },
      { role: "server", pid: server.pid },
    ],
    deliveryRole: "server",
    producer,
    readerOf: (id) => ({ transport: "sse", port, path: `/${id}`, headers: {} }),
    stack: stack.move(),
  });
}
