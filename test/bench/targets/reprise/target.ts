import { type GenerationRef, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { type Child, startChild } from "../../children/child.ts";
import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { createTarget, type RunningTarget } from "../target.ts";
import { type BenchBroker, SHARDS, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import type { ModerationLoad } from "./moderation-load.ts";
import { type RepriseSettings, startBeside } from "./service-child.ts";

/** Processes beside the others. Default: none. */
export interface Beside {
  /** Folder of the audit log's archive. */
  readonly auditDir?: string | undefined;
  /** Folder of analytics' rows. */
  readonly analyticsDir?: string | undefined;
  /** URL of the collector that delivery sends the spans of all requests to. */
  readonly otlpUrl?: string | undefined;
  /** Text that rules can read, in place of stamps, and moderation unless its use is `off`. */
  readonly moderation?: ModerationLoad;
}

export interface RepriseTarget extends RunningTarget {
  readonly natsUrl: string;
  /** Connects readers to delivery. */
  readonly delivery: { readonly port: number; readonly headers: Readonly<Record<string, string>> };
  /** The generations that `openStreams` has begun. */
  readonly refs: readonly GenerationRef[];
  /** From then on the worker begins generations that readers create. */
  adoptCreated(): Promise<void>;
}

/** nats-server, a process that appends as a worker does, and delivery. */
export async function startReprise(
  { natsServer, profileDir }: RepriseSettings,
  { auditDir, analyticsDir, otlpUrl, moderation }: Beside = {},
): Promise<RepriseTarget> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startBenchBroker(natsServer));
  const delivery = stack.use(await startBenchDelivery(broker, profileDir, { otlpUrl }));
  const { child, url, tenant, apiKey } = delivery;
  const beside: MeasuredProcess[] = [];
  const start = async (role: "audit-log" | "analytics" | "moderation", dataDir?: string) => {
    const { pid } = stack.use(await startBeside(role, broker, { dataDir, profileDir }));
    beside.push({ role, pid });
  };
  if (auditDir !== undefined) await start("audit-log", auditDir);
  if (analyticsDir !== undefined) await start("analytics", analyticsDir);
  if (moderation && moderation.use !== "off") await start("moderation");
  const worker = stack.use(await startWorker(broker, tenant, moderation));
  const port = Number(new URL(url).port);
  const headers = { authorization: `Bearer ${apiKey}` };
  const refs: GenerationRef[] = [];
  const target = createTarget({
    processes: [
      { role: "worker", pid: worker.pid },
      { role: "nats-server", pid: broker.server.pid },
      { role: "delivery", pid: child.pid },
      ...beside,
    ],
    deliveryRole: "delivery",
    producer: worker,
    probed: child,
    readerOf(id) {
      const index = refs.push({ tenant: parseTenantId(tenant), generation: parseGenerationId(id) }) - 1;
      const path = `/v1/generations/${id}/events`;
      return { transport: "sse", port, path, headers, ...(moderation && { countedAs: index }) };
    },
    stack: stack.move(),
  });
  return {
    ...target,
    natsUrl: broker.urlFor("admin"),
    delivery: { port, headers },
    refs,
    adoptCreated: () => worker.call("adoptCreated"),
  };
}

/** A process in the worker's role, which appends on the bench's schedule. */
export function startWorker(
  broker: BenchBroker,
  tenant: string,
  moderation?: ModerationLoad,
): Promise<Child> {
  return startChild({
    name: "worker",
    script: new URL("./worker.ts", import.meta.url),
    args: [tenant, String(SHARDS), ...(moderation ? [moderation.use, moderation.text] : [])],
    // Delivery stores the rules of moderation, and no worker may.
    env: { REPRISE_NATS_URL: broker.urlFor(moderation ? "admin" : "inference-worker") },
  });
}
