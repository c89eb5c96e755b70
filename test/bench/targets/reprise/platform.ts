import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { startBenchAuditLog } from "./audit-log.ts";
import { startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import { type RepriseSettings, startService } from "./service-child.ts";

export interface BenchPlatform extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  readonly tenant: string;
  readonly natsUrl: string;
  /** Of another tenant. */
  readonly otherKey: string;
  readonly processes: readonly MeasuredProcess[];
}

/**
 * nats-server, the inference-worker and delivery, each its own process, with the simulator as the model.
 * @param auditDir where the audit log, a process of its own, keeps what it archives; without it there is none
 */
export async function startPlatform(
  { natsServer, profileDir }: RepriseSettings,
  { auditDir }: { auditDir?: string | undefined } = {},
): Promise<BenchPlatform> {
  await using stack = new AsyncDisposableStack();
  const { server } = stack.use(await startBenchBroker(natsServer));
  const env = { REPRISE_NATS_URL: server.url, REPRISE_WORKER_SLOTS: "10000" };
  const { child: worker } = await startService({
    name: "inference-worker",
    readyMessage: "taking jobs",
    env,
    profileDir,
  });
  stack.use(worker);
  const delivery = stack.use(await startBenchDelivery(server.url, profileDir));
  const { url, tenant, apiKey, otherKey, child } = delivery;
  const beside: MeasuredProcess[] = [];
  if (auditDir !== undefined) {
    const audit = stack.use(await startBenchAuditLog(server.url, auditDir, profileDir));
    beside.push({ role: "audit-log", pid: audit.pid });
  }
  const running = stack.move();
  return {
    url,
    apiKey,
    otherKey,
    tenant,
    natsUrl: server.url,
    processes: [
      { role: "worker", pid: worker.pid },
      { role: "nats-server", pid: server.pid },
      { role: "delivery", pid: child.pid },
      ...beside,
    ],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
