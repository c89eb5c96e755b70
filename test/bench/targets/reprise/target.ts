import { startChild } from "../../children/child.ts";
import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { createTarget, type RunningTarget } from "../target.ts";
import { startBenchAnalytics } from "./analytics.ts";
import { startBenchAuditLog } from "./audit-log.ts";
import { SHARDS, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import { type ProtocolCall, PROTOCOLS, type ProtocolName } from "../protocols.ts";
import type { RepriseSettings } from "./service-child.ts";

/** What runs beside, as processes of their own, and how streams are read. Default: nothing, natively. */
export interface Beside {
  readonly protocol?: ProtocolName;
  /** Where the audit log keeps what it archives. */
  readonly auditDir?: string | undefined;
  /** Where analytics keeps rows. */
  readonly analyticsDir?: string | undefined;
  /** Of the collector that delivery sends the spans of all requests to. */
  readonly otlpUrl?: string | undefined;
}

/** nats-server, a process that appends as a worker does, and delivery. */
export async function startReprise(
  { natsServer, profileDir }: RepriseSettings,
  { auditDir, analyticsDir, otlpUrl, protocol = "native" }: Beside = {},
): Promise<RunningTarget> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startBenchBroker(natsServer));
  const { child, url, tenant, apiKey } = stack.use(await startBenchDelivery(broker, profileDir, { otlpUrl }));
  const beside: MeasuredProcess[] = [];
  if (auditDir !== undefined) {
    const audit = stack.use(await startBenchAuditLog(broker, auditDir, profileDir));
    beside.push({ role: "audit-log", pid: audit.pid });
  }
  if (analyticsDir !== undefined) {
    const analytics = stack.use(await startBenchAnalytics(broker, analyticsDir, profileDir));
    beside.push({ role: "analytics", pid: analytics.pid });
  }
  const worker = stack.use(
    await startChild({
      name: "worker",
      script: new URL("./worker.ts", import.meta.url),
      args: [tenant, String(SHARDS), protocol],
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
    readerOf(made) {
      const [id = "", key = ""] = made.split(" ");
      const call: ProtocolCall = PROTOCOLS[protocol](id, key);
      return { transport: "sse", port, ...call, headers: { ...headers, ...call.headers } };
    },
    stack: stack.move(),
  });
}
