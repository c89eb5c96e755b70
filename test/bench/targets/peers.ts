import { type Child, startChild } from "../children/child.ts";
import { startBenchRedis } from "./bench-redis.ts";
import { createTarget, type ReaderSpec, type RunningTarget } from "./target.ts";

interface Redis {
  readonly redis: string;
}

/** The floor: one process makes the tokens and writes them to readers. */
export async function startFloor(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startScript("floor", "floor/server.ts"));
  const port = await server.call<number>("listen");
  return createTarget({
    processes: [{ role: "server", pid: server.pid }],
    deliveryRole: "server",
    producer: server,
    readerOf: (id) => ({ transport: "sse", port, path: `/${id}`, headers: {} }),
    stack: stack.move(),
  });
}

/** Durable Streams' reference server: a producer that appends over HTTP, and one process that stores and serves. */
export async function startDurableStreams(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startScript("server", "durable-streams/server.ts"));
  const port = await server.call<number>("listen");
  const args = [`http://127.0.0.1:${port}`];
  const producer = stack.use(await startScript("producer", "durable-streams/producer.ts", { args }));
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

/** Vercel's resumable-stream: a producer process, Redis publish and subscribe, a process that serves readers. */
export function startResumableStream(settings: Redis): Promise<RunningTarget> {
  return startOverRedis(settings, "resumable-stream", true, (port, id) => ({
    transport: "sse",
    port,
    path: `/${id}`,
    headers: {},
  }));
}

/**
 * Socket.IO with the redis-streams adapter: a node that emits, Redis Streams, a node that serves clients over WebSocket. A client that comes
 * late gets nothing.
 */
export function startSocketIo(settings: Redis): Promise<RunningTarget> {
  return startOverRedis(settings, "socket-io", false, (port, room) => ({
    transport: "socket.io",
    url: `http://127.0.0.1:${port}`,
    room,
  }));
}

async function startOverRedis(
  { redis: binary }: Redis,
  folder: string,
  replays: boolean,
  readerOf: (port: number, id: string) => ReaderSpec,
): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startBenchRedis(binary));
  const env = { REDIS_URL: redis.url };
  const producer = stack.use(await startScript("producer", `${folder}/producer.ts`, { env }));
  const server = stack.use(await startScript("server", `${folder}/server.ts`, { env }));
  const port = await server.call<number>("listen");
  return createTarget({
    processes: [
      { role: "producer", pid: producer.pid },
      { role: "redis", pid: redis.pid },
      { role: "server", pid: server.pid },
    ],
    deliveryRole: "server",
    replays,
    producer,
    readerOf: (id) => readerOf(port, id),
    stack: stack.move(),
  });
}

function startScript(
  name: string,
  path: string,
  options: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<Child> {
  return startChild({ name, script: new URL(path, import.meta.url), ...options });
}
