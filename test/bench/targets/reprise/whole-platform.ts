import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Child } from "../../children/child.ts";
import type { MeasuredProcess } from "../../measure/process-usage.ts";
import { startBenchRedis } from "../bench-redis.ts";
import { startBenchAnalytics } from "./analytics.ts";
import { startBenchAuditLog } from "./audit-log.ts";
import { type BenchBroker, startBenchBroker } from "./broker.ts";
import { startBenchDelivery } from "./delivery.ts";
import { type RepriseSettings, startService } from "./service-child.ts";

/** Every service as a process of its own, with Redis for limits, and a tenant whose generations are moderated. */
export interface WholePlatform extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  readonly broker: BenchBroker;
  readonly auditDir: string;
  readonly analyticsDir: string;
  readonly processes: readonly MeasuredProcess[];
  /** The Node processes, which can be asked for what their heap holds. */
  readonly services: ReadonlyMap<string, Child>;
}

const MANY = 1_000_000_000;
/** One limit of each kind that a create has, so that each create asks Redis; none is reached. */
const LIMITS = { tenant: { requests_per_minute: MANY, tokens_per_minute: MANY, generations: MANY } };
const MODERATION = { mode: "retract", rules: ["cards", "secrets", "personal-data"] };

/** @param dir where audit-log and analytics keep what they make */
export async function startWholePlatform(
  { natsServer, profileDir, redis: redisBinary }: RepriseSettings & { readonly redis: string },
  dir: string,
): Promise<WholePlatform> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(await startBenchBroker(natsServer));
  const redis = stack.use(await startBenchRedis(redisBinary));
  const [auditDir, analyticsDir] = [join(dir, "audit-log"), join(dir, "analytics")];
  await Promise.all([auditDir, analyticsDir].map((path) => mkdir(path)));
  const startChild = async (name: "inference-worker" | "moderation", readyMessage: string) => {
    const env = { REPRISE_NATS_URL: broker.urlFor(name), REPRISE_WORKER_SLOTS: "10000" };
    const { child } = await startService({ name, readyMessage, env, profileDir });
    return stack.use(child);
  };
  const worker = await startChild("inference-worker", "taking jobs");
  const moderation = await startChild("moderation", "judging");
  const delivery = stack.use(
    await startBenchDelivery(broker, profileDir, {
      redisUrl: redis.url,
      tenantFields: { limits: LIMITS, policy: { moderation: MODERATION } },
    }),
  );
  const auditLog = stack.use(await startBenchAuditLog(broker, auditDir, profileDir));
  const analytics = stack.use(await startBenchAnalytics(broker, analyticsDir, profileDir));
  const services = new Map([
    ["worker", worker],
    ["delivery", delivery.child],
    ["moderation", moderation],
    ["audit-log", auditLog],
    ["analytics", analytics],
  ]);
  const running = stack.move();
  return {
    url: delivery.url,
    apiKey: delivery.apiKey,
    broker,
    auditDir,
    analyticsDir,
    processes: [
      ...[...services].map(([role, { pid }]) => ({ role, pid })),
      { role: "nats-server", pid: broker.server.pid },
      { role: "redis", pid: redis.pid },
    ],
    services,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
