import { type Broker, openBroker, type ServiceUser } from "@reprise/log";
import { BROKER_ADDRESS_NAMES, brokerAddressOf } from "./broker-address.ts";
import { logForbidden } from "./log-forbidden.ts";
import { type BrokerWatch, watchBroker } from "./broker-watch.ts";
import type { Environment } from "../environment/environment.ts";
import type { RunningService } from "../lifecycle/lifecycle.ts";
import { createLogger, type Logger } from "../lifecycle/logger.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import { createOpsHandler, type OpsSource, startOpsServer } from "../http/ops-server.ts";
import { topologyOf } from "./topology-of.ts";

/** What every service behind the broker is told by its environment. */
export const BROKER_SERVICE_NAMES = [
  "REPRISE_HOST",
  ...BROKER_ADDRESS_NAMES,
  "REPRISE_LOG_LEVEL",
  "REPRISE_SHARDS",
  "REPRISE_REPLICAS",
  "REPRISE_RETENTION_HOURS",
  "REPRISE_DRAIN_MS",
] as const;

export interface BrokerServiceEnvironment extends Environment<
  (typeof BROKER_SERVICE_NAMES)[number],
  "REPRISE_NATS_URL"
> {
  /** For a service without an API, which could not be asked how it is. */
  readonly REPRISE_OPS_PORT?: number | undefined;
}

/** What such a service is started with. */
export interface BrokerServiceContext {
  readonly broker: Broker;
  readonly brokerWatch: BrokerWatch;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface StartedBrokerService
  extends Required<Pick<RunningService, "reload">>, Pick<RunningService, "announceStop" | "noticeMs"> {
  /** Disposed of before the broker. */
  readonly service: AsyncDisposable & Pick<OpsSource, "notReadyBecause">;
  /** What it does from now on, as its log says it. */
  readonly does: string;
  /** The fields of that line. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Connects to the broker, has the service started on it, and answers for its health where `REPRISE_OPS_PORT` is set: all that
 * `runService` needs. What was opened is closed when a later step fails.
 * @throws RepriseError `broker_unavailable`, `broker_incompatible`, and what `start` throws
 */
export async function startBrokerService(
  name: ServiceUser,
  env: BrokerServiceEnvironment,
  start: (context: BrokerServiceContext) => Promise<StartedBrokerService>,
): Promise<RunningService> {
  const { REPRISE_HOST: host, REPRISE_OPS_PORT: port, REPRISE_DRAIN_MS: drainMs } = env;
  const logger = createLogger({ service: name, level: env.REPRISE_LOG_LEVEL });
  const metrics = createMetrics();
  await using stack = new AsyncDisposableStack();
  const onError = (err: unknown) => logger.error({ err }, "a request to the broker has failed");
  const broker = stack.use(
    await openBroker({ ...brokerAddressOf(env), name, user: name, onError, ...topologyOf(env) }),
  );
  logForbidden(broker, logger);
  const brokerWatch = stack.use(watchBroker(broker, env.REPRISE_SHARDS, logger));
  const { service, does, details, ...calls } = await start({ broker, brokerWatch, logger, metrics });
  stack.use(service);
  const notReadyBecause = () => [...new Set([...service.notReadyBecause(), ...brokerWatch.because()])];
  const ops = createOpsHandler({ metrics, notReadyBecause });
  const opsServer = port === undefined ? undefined : stack.use(await startOpsServer(ops, { host, port }));
  logger.info({ ...details, ops: opsServer?.url }, does);
  const running = stack.move();
  return { logger, drainMs, failed: brokerWatch.failed, stop: () => running.disposeAsync(), ...calls };
}
