import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseVerifierKey } from "@reprise/archive";
import { LOG } from "@reprise/archive/testing";
import { type ServiceProcess, startWitnessProcess } from "@reprise/testkit";
import { type Cluster, startCluster } from "../../e2e/testing/cluster.ts";

const TENANT = "acme";
/** Has a budget that no create fits into. */
const SPENT_TENANT = "spent";
const SPENT_BUDGETS = [{ name: "all", unit: "tokens", limit: 1, period: "total" }];

/** Every service that has metrics, as a process of its own with its ops port open. Disposal ends all of them. */
export interface ObservedPlatform extends AsyncDisposable {
  readonly cluster: Cluster;
  /** Address of the API. */
  readonly url: string;
  /** Key of the tenant that drives the platform. */
  readonly apiKey: string;
  /** Key of a tenant whose budget is used up. */
  readonly spentApiKey: string;
  readonly services: readonly ObservedService[];
  readonly worker: ServiceProcess;
  readonly moderation: ServiceProcess;
  /** Base URL of the witness, which trusts the audit log, and the log of `createHistory`. */
  readonly witnessUrl: string;
  /** Where the audit log keeps its archive, and analytics its rows. */
  readonly archive: LedFolder;
  readonly rows: LedFolder;
}

export interface ObservedService {
  readonly name: string;
  /** Where its health and metrics are. */
  readonly opsUrl: string;
}

const OPS = { REPRISE_OPS_PORT: "0" };

type Environment = Readonly<Record<string, string>>;

/** @param delivery further environment variables of delivery */
export async function startObservedPlatform({
  delivery: deliveryEnv = {},
}: { readonly delivery?: Environment } = {}): Promise<ObservedPlatform> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ tenants: [TENANT, SPENT_TENANT] }));
  await setSpentBudget(cluster);
  const archive = await createLedFolder(join(cluster.dataDir, "audit"));
  const rows = await createLedFolder(join(cluster.dataDir, "analytics"));
  const [delivery, worker, moderation, auditLog, analytics] = await Promise.all([
    cluster.startDelivery({ ...OPS, ...deliveryEnv }),
    cluster.startWorker(OPS),
    cluster.startModeration(OPS),
    cluster.startAuditLog(OPS),
    cluster.startAnalytics({ ...OPS, REPRISE_USAGE_DIR: join(cluster.dataDir, "usage") }),
  ]);
  const { vkey } = await auditLog.logged("archiving");
  const witness = stack.use(
    await startWitnessProcess({
      dir: join(cluster.dataDir, "witness"),
      logs: [parseVerifierKey(String(vkey)), LOG],
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
    witnessUrl: witness.url,
    archive,
    rows,
    spentApiKey: keyOf(cluster, SPENT_TENANT),
    services,
    worker,
    moderation,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function keyOf({ keys }: Cluster, tenant: string): string {
  const key = keys[tenant];
  if (key === undefined) throw new Error(`the cluster has no key of ${tenant}`);
  return key;
}

async function setSpentBudget({ tenantsFile }: Cluster): Promise<void> {
  const { tenants } = JSON.parse(await readFile(tenantsFile, "utf8")) as {
    tenants: readonly { readonly id: string }[];
  };
  const extended = tenants.map((tenant) =>
    tenant.id === SPENT_TENANT ? { ...tenant, budgets: SPENT_BUDGETS } : tenant,
  );
  await writeFile(tenantsFile, JSON.stringify({ tenants: extended }));
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

/** A path that leads to a folder, or to a file in its place. */
export interface LedFolder {
  /** Replaces the link in one step: a service would create a missing folder, and begin again. */
  lead(to: "folder" | "file"): Promise<void>;
}

/** @param path must not exist yet */
async function createLedFolder(path: string): Promise<LedFolder> {
  await mkdir(`${path}.folder`, { recursive: true });
  await writeFile(`${path}.file`, "");
  const lead = async (to: "folder" | "file") => {
    await symlink(`${path}.${to}`, `${path}.next`);
    await rename(`${path}.next`, path);
  };
  await lead("folder");
  return { lead };
}
