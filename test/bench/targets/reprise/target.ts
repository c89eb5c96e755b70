import { startChild } from "../../children/child.ts";
import { createTarget, type RunningTarget } from "../target.ts";
import { SHARDS, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import type { RepriseSettings } from "./service-child.ts";

/** nats-server, a process that appends as a worker does, and delivery. */
export async function startReprise({ natsServer, profileDir }: RepriseSettings): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const { server } = stack.use(await startBenchBroker(natsServer));
  const { child, url, tenant, apiKey } = stack.use(await startBenchDelivery(server.url, profileDir));
  const worker = stack.use(
    await startChild({
      name: "worker",
      script: new URL("./worker.ts", import.meta.url),
      args: [server.url, tenant, String(SHARDS)],
    }),
  );
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${apiKey}` };
  return createTarget({
    processes: [
      { role: "worker", pid: worker.pid },
      { role: "nats-server", pid: server.pid },
      { role: "delivery", pid: child.pid },
    ],
    deliveryRole: "delivery",
    producer: worker,
    probed: child,
    readerOf: (id) => ({ transport: "sse", port, path: `/v1/generations/${id}/events`, headers }),
    stack: stack.move(),
  });
}
