import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseVerifierKey } from "@reprise/archive";
import { LOG } from "@reprise/archive/testing";
import { type ServiceProcess, startWitnessProcess } from "@reprise/testkit";
import { createLedFolder, type LedFolder } from "./led-folder.ts";
import { type Cluster, startCluster } from "../../e2e/testing/cluster.ts";

const TENANT = "acme";
const OTHER_TENANT = "globex";
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
  readonly otherApiKey: string;
  /** Of a tenant whose budget is used up. */
  readonly spentApiKey: string;
  /** Of the tenant that drives the platform, with the role `usage` alone. */
  readonly usageKey: string;
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

/** @param more further environment variables, of delivery or of all services */
export async function startObservedPlatform(
  more: { readonly delivery?: Environment; readonly all?: Environment } = {},
): Promise<ObservedPlatform> {
  const env = { ...OPS, ...more.all };
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ tenants: [TENANT, OTHER_TENANT, SPENT_TENANT] }));
  const usageKey = `rk_${TENANT}_${randomBytes(24).toString("base64url")}`;
  await extendTenants(cluster, usageKey);
  const archive = await createLedFolder(join(cluster.dataDir, "audit"));
  const rows = await createLedFolder(join(cluster.dataDir, "analytics"));
  const [delivery, worker, moderation, auditLog, analytics] = await Promise.all([
    cluster.startDelivery({ ...env, ...more.delivery }),
    cluster.startWorker(env),
    cluster.startModeration(env),
    cluster.startAuditLog(env),
    cluster.startAnalytics({ ...env, REPRISE_USAGE_DIR: join(cluster.dataDir, "usage") }),
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
    otherApiKey: keyOf(cluster, OTHER_TENANT),
    usageKey,
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

interface TenantEntry {
  readonly id: string;
  readonly keys: readonly object[];
}

/** Gives one tenant its budget, and the other one its key for numbers. */
async function extendTenants({ tenantsFile }: Cluster, usageKey: string): Promise<void> {
  const { tenants } = JSON.parse(await readFile(tenantsFile, "utf8")) as { tenants: readonly TenantEntry[] };
  const sha256 = createHash("sha256").update(usageKey).digest("hex");
  const extended = tenants.map((tenant) => {
    if (tenant.id === SPENT_TENANT) return { ...tenant, budgets: SPENT_BUDGETS };
    if (tenant.id !== TENANT) return tenant;
    return { ...tenant, keys: [...tenant.keys, { sha256, roles: ["usage"] }] };
  });
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
