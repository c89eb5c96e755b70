import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Broker, connectBroker, openBroker, type ServiceUser } from "@reprise/broker";
import { createGenerationLog, type GenerationLog, restoreBackup } from "@reprise/stream";
import {
  decodeEvent,
  type KnownEvent,
  liveSubject,
  parseGenerationId,
  parseTenantId,
  Transcript,
  asStreamSeq,
} from "@reprise/protocol";
import { createPasswordUsers } from "@reprise/runtime";
import {
  createTempDir,
  type ServiceProcess,
  startService,
  startTestBroker,
  type TestBroker,
  untilAnswered,
} from "@reprise/testkit";

export interface DeliveryProcess extends ServiceProcess {
  readonly url: string;
  /** Where health and metrics are. */
  readonly opsUrl: string;
}

export interface WorkerProcess extends ServiceProcess {
  /** Its name in `generation.started`. */
  readonly id: string;
}

/** A broker, and any number of delivery nodes and workers, each a process of its own. Disposal ends all of them. */
export interface Cluster extends AsyncDisposable {
  readonly server: TestBroker;
  /** Past all services. */
  readonly broker: Broker;
  readonly log: GenerationLog;
  /** API keys with every role but `audit`, by tenant. */
  readonly keys: Readonly<Record<string, string>>;
  /** API keys with the role `audit` alone, by tenant. */
  readonly auditKeys: Readonly<Record<string, string>>;
  /** Where the audit log keeps its archive and its keys. */
  readonly dataDir: string;
  /** The file from which delivery nodes read their tenants. */
  readonly tenantsFile: string;
  startDelivery(env?: Readonly<Record<string, string>>): Promise<DeliveryProcess>;
  /** Resolves once it takes jobs. */
  startWorker(env?: Readonly<Record<string, string>>): Promise<WorkerProcess>;
  /** Resolves once it judges. */
  startModeration(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** Resolves once it archives. */
  startAuditLog(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** Resolves once it measures. */
  startAnalytics(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** Disposes of something together with the services, before the broker. */
  use<T extends AsyncDisposable>(resource: T): T;
  /** The log, read from its leader: exact payloads, seq 0 included. */
  readLog(tenant: string, id: string): Promise<string[]>;
  /** Resolves with the log as soon as it holds what is asked for. */
  untilLog(tenant: string, id: string, holds: (events: KnownEvent[]) => boolean): Promise<KnownEvent[]>;
}

export interface ClusterOptions {
  tenants?: readonly string[];
  /** A lost cluster, a backup of its broker and a copy of its data folder, to continue from. */
  restored?: {
    readonly lost: Pick<Cluster, "keys" | "auditKeys">;
    readonly backupDir: string;
    readonly dataDir: string;
  };
  /** Default: so long that no living worker counts as lost. Shorter where one is killed. */
  ackWaitMs?: number;
}

const SHARDS = 2;
const TIMEOUT = { after_ms: 600_000 };
/** The tenants' policy: a busy machine ends no generation. A request may ask for shorter times. */
const POLICY = { timeouts: { queue: TIMEOUT, first_token: TIMEOUT, between_tokens: TIMEOUT } };

export async function startCluster({
  tenants = ["acme"],
  restored,
  ackWaitMs = 30_000,
}: ClusterOptions = {}): Promise<Cluster> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("e2e"));
  // Every service has its own user, as an operator is told to set it up; this process is the user admin.
  const { accounts, logins } = createPasswordUsers({ shards: SHARDS });
  const server = stack.use(await startTestBroker({ extraConfig: { accounts } }));
  const admin = { url: server.url, access: logins.admin, name: "e2e", onError: rethrow };
  const topology = { shards: SHARDS, replicas: 1, retentionMs: 24 * 3_600_000 };
  const broker = stack.use(await (restored ? connectBroker(admin) : openBroker({ ...admin, ...topology })));
  if (restored) await restoreBackup(broker, { dir: restored.backupDir });
  const log = createGenerationLog(broker);
  const keys = restored?.lost.keys ?? Object.fromEntries(tenants.map((tenant) => [tenant, newKey(tenant)]));
  const tenantsFile = join(dir.path, "tenants.json");
  const auditKeys =
    restored?.lost.auditKeys ?? Object.fromEntries(tenants.map((tenant) => [tenant, newKey(tenant)]));
  await writeFile(tenantsFile, toTenantsFile(keys, auditKeys));
  const dataDir = restored?.dataDir ?? join(dir.path, "data");

  const base = {
    REPRISE_NATS_URL: server.url,
    REPRISE_SHARDS: String(SHARDS),
    REPRISE_DRAIN_NOTICE_MS: "0",
    REPRISE_ACK_WAIT_MS: String(ackWaitMs),
  };
  const started: ServiceProcess[] = [];
  stack.defer(() => assertNothingForbidden(started));
  const processes = stack.use(new AsyncDisposableStack());
  const start = async (name: ServiceUser, env: Readonly<Record<string, string>>) => {
    const { user: REPRISE_NATS_USER, password: REPRISE_NATS_PASSWORD } = logins[name];
    const service = processes.use(
      await startService(name, { ...base, REPRISE_NATS_USER, REPRISE_NATS_PASSWORD, ...env }),
    );
    started.push(service);
    return service;
  };
  const kept = stack.move();
  return {
    server,
    broker,
    log,
    keys,
    auditKeys,
    dataDir,
    tenantsFile,
    async startDelivery(env = {}) {
      const own = { REPRISE_PORT: "0", REPRISE_TENANTS_FILE: tenantsFile, REPRISE_TENANTS_SOURCE: "file" };
      const service = await start("delivery", { ...own, ...env });
      const { url, ops } = await service.logged("listening");
      return { ...service, url: String(url), opsUrl: String(ops) };
    },
    async startWorker(env = {}) {
      const service = await start("inference-worker", env);
      const { worker } = await service.logged("taking jobs");
      return { ...service, id: String(worker) };
    },
    async startModeration(env = {}) {
      const service = await start("moderation", env);
      await service.logged("judging");
      return service;
    },
    async startAuditLog(env = {}) {
      const own = { REPRISE_DATA_DIR: dataDir, REPRISE_OPS_PORT: "0", REPRISE_TENANTS_FILE: tenantsFile };
      const service = await start("audit-log", { ...own, ...env });
      await service.logged("archiving");
      return service;
    },
    async startAnalytics(env = {}) {
      const service = await start("analytics", { REPRISE_DATA_DIR: dataDir, ...env });
      await service.logged("measuring");
      return service;
    },
    use: (resource) => processes.use(resource),
    readLog: (tenant, id) => readLog(log, tenant, id),
    untilLog: (tenant, id, holds) => untilLog({ broker, log, tenant, id, holds }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export function textOf(events: readonly KnownEvent[]): string {
  const transcript = new Transcript();
  for (const event of events) transcript.apply(event);
  return transcript.text;
}

async function readLog(log: GenerationLog, tenant: string, id: string): Promise<string[]> {
  const ref = { tenant: parseTenantId(tenant), generation: parseGenerationId(id) };
  const stored = await untilAnswered(() => log.leader.readTail(ref, asStreamSeq(0)));
  return stored.map(({ payload }) => Buffer.from(payload).toString());
}

interface Watch {
  broker: Broker;
  log: GenerationLog;
  tenant: string;
  id: string;
  holds: (events: KnownEvent[]) => boolean;
}

/** Checks now, and again whenever the log has grown. */
async function untilLog({ broker, log, tenant, id, holds }: Watch): Promise<KnownEvent[]> {
  const ref = { tenant: parseTenantId(tenant), generation: parseGenerationId(id) };
  let grown = Promise.withResolvers<void>();
  const live = broker.main.subscribe(liveSubject(ref), { callback: () => grown.resolve() });
  try {
    await broker.main.flush();
    for (;;) {
      grown = Promise.withResolvers();
      const events = (await readLog(log, tenant, id)).map((payload) => decodeEvent(payload) as KnownEvent);
      if (holds(events)) return events;
      await grown.promise;
    }
  } finally {
    live.unsubscribe();
  }
}

function newKey(tenant: string): string {
  return `rk_${tenant}_${randomBytes(24).toString("base64url")}`;
}

function toTenantsFile(
  keys: Readonly<Record<string, string>>,
  auditKeys: Readonly<Record<string, string>>,
): string {
  const sha256 = (secret: string) => createHash("sha256").update(secret).digest("hex");
  const tenants = Object.entries(keys).map(([id, secret]) => ({
    id,
    policy: POLICY,
    keys: [
      {
        sha256: sha256(secret),
        roles: ["create", "read", "cancel", "tool", "input", "review", "usage", "blob", "erase"],
      },
      { sha256: sha256(auditKeys[id]!), roles: ["audit"] },
    ],
  }));
  return JSON.stringify({ tenants });
}

function rethrow(error: unknown): never {
  throw error;
}

/** @throws Error when the broker has refused something to a service: its user's permissions lack what the service needs */
export function assertNothingForbidden(services: readonly ServiceProcess[]): void {
  const lines = services.flatMap((service) => service.lines);
  const forbidden = lines.filter(({ msg }) => msg === "the broker refuses this to this process's user");
  if (forbidden.length > 0) throw new Error(`Forbidden to services: ${JSON.stringify(forbidden)}`);
}
