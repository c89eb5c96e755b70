import { join } from "node:path";
import { type Broker, connectBroker, openBroker } from "@reprise/broker";
import { createPasswordUsers } from "@reprise/runtime";
import { type ServiceProcess, startService, startTestBroker, type TestBroker } from "@reprise/testkit";

/** A broker with a user for each service. */
export interface DrilledBroker extends AsyncDisposable {
  readonly server: TestBroker;
  /** As the user admin. */
  readonly admin: Broker;
  readonly logins: ReturnType<typeof createPasswordUsers>["logins"];
}

const SHARDS = 2;
const TOPOLOGY = { shards: SHARDS, replicas: 1, retentionMs: 24 * 3_600_000 };

/** @param isEmpty without the platform's streams, as before a restore */
export async function startDrilledBroker({ isEmpty }: { isEmpty: boolean }): Promise<DrilledBroker> {
  await using stack = new AsyncDisposableStack();
  const { accounts, logins } = createPasswordUsers({ shards: SHARDS });
  const server = stack.use(await startTestBroker({ extraConfig: { accounts } }));
  const address = { url: server.url, access: logins.admin, name: "drill", user: "admin" as const };
  const admin = stack.use(await (isEmpty ? connectBroker(address) : openBroker({ ...address, ...TOPOLOGY })));
  const kept = stack.move();
  return { server, admin, logins, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

export interface DrilledPlatform extends AsyncDisposable {
  /** Where clients find delivery. */
  readonly url: string;
  readonly services: readonly ServiceProcess[];
  /** SIGKILL to every service. Resolves when all are gone. */
  kill(): Promise<void>;
  /** SIGTERM to every service. Resolves when all have ended. */
  stop(): Promise<void>;
}

const READY = {
  delivery: "listening",
  "inference-worker": "taking jobs",
  moderation: "judging",
  "audit-log": "archiving",
  analytics: "measuring",
} as const;

/**
 * Every service as a process.
 * @param options the folder of the archive, the keys and analytics' rows; a tenants file if the broker has no tenants yet
 */
export async function startDrilledPlatform(
  { server, logins }: DrilledBroker,
  { dataDir, tenantsFile }: { dataDir: string; tenantsFile?: string },
): Promise<DrilledPlatform> {
  await using stack = new AsyncDisposableStack();
  const start = async (name: keyof typeof READY, env: Readonly<Record<string, string>> = {}) => {
    const { user: REPRISE_NATS_USER, password: REPRISE_NATS_PASSWORD } = logins[name];
    const service = stack.use(
      await startService(name, {
        REPRISE_NATS_URL: server.url,
        REPRISE_NATS_USER,
        REPRISE_NATS_PASSWORD,
        REPRISE_SHARDS: String(SHARDS),
        REPRISE_ACK_WAIT_MS: "1000",
        REPRISE_DRAIN_NOTICE_MS: "0",
        REPRISE_DATA_DIR: join(dataDir),
        ...env,
      }),
    );
    return { service, line: await service.logged(READY[name]) };
  };
  const all = await Promise.all([
    start("delivery", {
      REPRISE_PORT: "0",
      REPRISE_OPS_PORT: "0",
      ...(tenantsFile !== undefined && { REPRISE_TENANTS_FILE: tenantsFile }),
    }),
    start("inference-worker"),
    start("moderation"),
    start("audit-log", { REPRISE_OPS_PORT: "0" }),
    start("analytics"),
  ]);
  const services = all.map(({ service }) => service);
  const running = stack.move();
  return {
    url: String(all[0].line["url"]),
    services,
    async kill() {
      for (const service of services) service.kill("SIGKILL");
      await Promise.all(services.map(({ exited }) => exited));
    },
    async stop() {
      await Promise.all(services.map((service) => service.stop()));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
