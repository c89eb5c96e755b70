import { startChild } from "../../children/child.ts";
import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { createTarget, type RunningTarget } from "../target.ts";
import { startBenchAuditLog } from "./audit-log.ts";
import { SHARDS, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import type { RepriseSettings } from "./service-child.ts";

/**
 * nats-server, a process that appends as a worker does, and delivery.
 * @param auditDir where the audit log, a process of its own, keeps what it archives; without it there is none
 */
export async function startReprise(
  { natsServer, profileDir }: RepriseSettings,
  { auditDir }: { auditDir?: string | undefined } = {},
): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startBenchBroker(natsServer));
  const { child, url, tenant, apiKey } = stack.use(await startBenchDelivery(broker, profileDir));
  const beside: MeasuredProcess[] = [];
  if (auditDir !== undefined) {
    const audit = stack.use(await startBenchAuditLog(broker, auditDir, profileDir));
    beside.push({ role: "audit-log", pid: audit.pid });
  }
  const worker = stack.use(
    await startChild({
      name: "worker",
      script: new URL("./worker.ts", import.meta.url),
      args: [tenant, String(SHARDS)],
      env: { REPRISE_NATS_URL: broker.urlFor("inference-worker") },
    }),
  );
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${apiKey}` };
  return createTarget({
    processes: [
      { role: "worker", pid: worker.pid },
      { role: "nats-server", pid: broker.server.pid },
      { role: "delivery", pid: child.pid },
      ...beside,
    ],
    deliveryRole: "delivery",
    producer: worker,
    probed: child,
    readerOf: (id) => ({ transport: "sse", port, path: `/v1/generations/${id}/events`, headers }),
    stack: stack.move(),
  });
}
