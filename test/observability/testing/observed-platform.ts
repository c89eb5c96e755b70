import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseVerifierKey } from "@reprise/archive";
import { type ServiceProcess, startWitnessProcess } from "@reprise/testkit";
import { type Cluster, startCluster } from "../../e2e/testing/cluster.ts";

const TENANT = "acme";
/** Has a budget that no create fits into. */
const SPENT_TENANT = "spent";
const SPENT_BUDGETS = [{ name: "all", unit: "tokens", limit: 1, period: "total" }];

/** Every service that has metrics, as a process of its own with its ops port open. Disposal ends all of them. */
export interface ObservedPlatform extends AsyncDisposable {
  readonly cluster: Cluster;
  /** Of the API. */
  readonly url: string;
  /** Of the tenant that drives the platform. */
  readonly apiKey: string;
  /** Of a tenant whose budget is used up. */
  readonly spentApiKey: string;
  readonly services: readonly ObservedService[];
  readonly moderation: ServiceProcess;
}

export interface ObservedService {
  readonly name: string;
  /** Where its health and metrics are. */
  readonly opsUrl: string;
}

const OPS = { REPRISE_OPS_PORT: "0" };

/** @param deliveryEnv further environment variables of delivery */
export async function startObservedPlatform(
  deliveryEnv: Readonly<Record<string, string>> = {},
): Promise<ObservedPlatform> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ tenants: [TENANT, SPENT_TENANT] }));
  await addBudgets(cluster);
  const [delivery, worker, moderation, auditLog, analytics] = await Promise.all([
    cluster.startDelivery({ ...OPS, ...deliveryEnv }),
    cluster.startWorker(OPS),
    cluster.startModeration(OPS),
    cluster.startAuditLog(OPS),
    cluster.startAnalytics(OPS),
  ]);
  const { vkey } = await auditLog.logged("archiving");
  const witness = stack.use(
    await startWitnessProcess({
      dir: join(cluster.dataDir, "witness"),
      logs: [parseVerifierKey(String(vkey))],
      env: OPS,
    }),
  );
  const services = await Promise.all([
    observe("delivery", delivery, "listening"),
    observe("inference-worker", worker, "taking jobs"),
    observe("moderation", moderation, "judging"),
    observe("audit-log", auditLog, "archiving"),
    observe("analytics", analytics, "measuring"),
  ]);
  const ready = witness.lines.find(({ msg }) => msg === "witnessing");
  services.push({ name: "witness", opsUrl: String(ready?.["ops"]) });
  const running = stack.move();
  return {
    cluster,
    url: delivery.url,
    apiKey: keyOf(cluster, TENANT),
    spentApiKey: keyOf(cluster, SPENT_TENANT),
    services,
    moderation,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function keyOf({ keys }: Cluster, tenant: string): string {
  const key = keys[tenant];
  if (key === undefined) throw new Error(`the cluster has no key of ${tenant}`);
  return key;
}

async function addBudgets({ tenantsFile }: Cluster): Promise<void> {
  const { tenants } = JSON.parse(await readFile(tenantsFile, "utf8")) as { tenants: { id: string }[] };
  const budgeted = tenants.map((tenant) =>
    tenant.id === SPENT_TENANT ? { ...tenant, budgets: SPENT_BUDGETS } : tenant,
  );
  await writeFile(tenantsFile, JSON.stringify({ tenants: budgeted }));
}

/** @param ready what the service logs once it does its work, with the address of its ops server */
async function observe(name: string, process: ServiceProcess, ready: string): Promise<ObservedService> {
  const { ops } = await process.logged(ready);
  return { name, opsUrl: String(ops) };
}

/** The text of a service's `/metrics`. */
export async function scrape({ opsUrl }: ObservedService): Promise<string> {
  return (await fetch(`${opsUrl}/metrics`)).text();
}
