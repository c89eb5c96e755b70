import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { type Child, startChild } from "../../children/child.ts";
import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { type BenchBroker, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import { type RepriseSettings, startBeside, startService } from "./service-child.ts";

export interface BenchPlatform extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  readonly tenant: string;
  readonly broker: BenchBroker;
  /** Key of another tenant. */
  readonly otherKey: string;
  readonly processes: readonly MeasuredProcess[];
}

interface PlatformOptions {
  /** Where the audit log, a process of its own, keeps what it archives; without it there is none. */
  auditDir?: string | undefined;
  /** Of the worker. Default: more than any scenario needs. */
  slots?: number;
  /** Of these slots, those that are not for tenants with their share. */
  reserve?: number;
}

/**
 * nats-server, the inference-worker and delivery, each its own process, with the simulator as the model.
 */
export async function startPlatform(
  { natsServer, profileDir }: RepriseSettings,
  { auditDir, slots = 10_000, reserve = 0 }: PlatformOptions = {},
): Promise<BenchPlatform> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startBenchBroker(natsServer));
  const dir = stack.use(await createTempDir("bench-models"));
  const modelsFile = join(dir.path, "models.json");
  await writeFile(modelsFile, JSON.stringify({ models: { sim: { engine: "sim", slots, reserve } } }));
  const env = { REPRISE_NATS_URL: broker.urlFor("inference-worker"), REPRISE_MODELS_FILE: modelsFile };
  const { child: worker } = await startService({
    name: "inference-worker",
    readyMessage: "taking jobs",
    env,
    profileDir,
  });
  stack.use(worker);
  const delivery = stack.use(await startBenchDelivery(broker, profileDir));
  const { url, tenant, apiKey, otherKey, child } = delivery;
  const beside: MeasuredProcess[] = [];
  if (auditDir !== undefined) {
    const audit = stack.use(await startBeside("audit-log", broker, { dataDir: auditDir, profileDir }));
    beside.push({ role: "audit-log", pid: audit.pid });
  }
  const running = stack.move();
  return {
    url,
    apiKey,
    otherKey,
    tenant,
    broker,
    processes: [
      { role: "worker", pid: worker.pid },
      { role: "nats-server", pid: broker.server.pid },
      { role: "delivery", pid: child.pid },
      ...beside,
    ],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A process that sends creates: `load/create-client.ts`. */
export function startCreateClient(name: string): Promise<Child> {
  return startChild({ name, script: new URL("../../load/create-client.ts", import.meta.url) });
}
