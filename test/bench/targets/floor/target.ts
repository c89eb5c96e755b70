import { startChild } from "../../children/child.ts";
import { createTarget, type RunningTarget } from "../target.ts";

export async function startFloor(): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startChild({ name: "floor", script: new URL("./server.ts", import.meta.url) }),
  );
  const port = await server.call<number>("listen");
  return createTarget({
    processes: [{ role: "server", pid: server.pid }],
    deliveryRole: "server",
    producer: server,
    readerOf: (id) => ({ transport: "sse", port, path: `/${id}`, headers: {} }),
    stack: stack.move(),
  });
}
