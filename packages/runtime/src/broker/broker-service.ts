import { type Broker, openBroker, type ServiceUser, type Forbidden } from "@reprise/broker";
import type { Tracing } from "../telemetry/index.ts";
import { BROKER_ADDRESS_NAMES, brokerAddressOf } from "./broker-address.ts";
import { type BrokerWatch, watchBroker } from "./broker-watch.ts";
import { DependencyWatches } from "../lifecycle/dependency-watch.ts";
import type { Environment } from "../environment/environment.ts";
import type { RunningService } from "../lifecycle/lifecycle.ts";
import { createLogger, type Logger } from "../lifecycle/logger.ts";
import { createMetrics, type Metrics } from "../http/metrics.ts";
import type { HttpAddress } from "../http/listen-http.ts";
import { opsAddressOf, createOpsHandler, type OpsSource, startOpsServer } from "../http/ops-server.ts";
import { openServiceTracing, TRACING_NAMES } from "../tracing/service-tracing.ts";
import { observeBroker } from "./observe-broker.ts";

/** The environment variables of every service that uses the broker. */
export const BROKER_SERVICE_NAMES = [
  "REPRISE_OPS_HOST",
  "REPRISE_OPS_PORT",
  ...BROKER_ADDRESS_NAMES,
  "REPRISE_LOG_LEVEL",
  "REPRISE_SHARDS",
  "REPRISE_REPLICAS",
  "REPRISE_RETENTION_HOURS",
  "REPRISE_DRAIN_MS",
  ...TRACING_NAMES,
] as const;

export type BrokerServiceEnvironment = Environment<(typeof BROKER_SERVICE_NAMES)[number], "REPRISE_NATS_URL">;

/** The start parameters of such a service. */
export interface BrokerServiceContext {
  readonly broker: Broker;
  readonly brokerWatch: BrokerWatch;
  /** The dependencies of the service. Asked for readiness, beside the service and the broker. */
  readonly watches: DependencyWatches;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
}

export interface StartedBrokerService
  extends Required<Pick<RunningService, "reload">>, Pick<RunningService, "announceStop" | "noticeMs"> {
  /** Disposed of before the broker. */
  readonly service: AsyncDisposable & Pick<OpsSource, "notReadyBecause">;
  /** The new activity of the service, as its log line states it. */
  readonly does: string;
  /** The fields of that line. */
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Connects to the broker, has the service started on it, and answers for its health from before it starts until it has stopped: all that
 * `runService` needs. What was opened is closed when a later step fails.
 * @param ops where health and metrics are; undefined: they are not served
 * @throws RepriseError `broker_unavailable`, `broker_incompatible`, and what `start` throws
 */
export async function startBrokerService(
  name: ServiceUser,
  env: BrokerServiceEnvironment,
  start: (context: BrokerServiceContext) => Promise<StartedBrokerService>,
  ops: HttpAddress | undefined = opsAddressOf(env),
): Promise<RunningService> {
  const { REPRISE_DRAIN_MS: drainMs } = env;
  const logger = createLogger({ service: name, level: env.REPRISE_LOG_LEVEL });
  const metrics = createMetrics();
  await using stack = new AsyncDisposableStack();
  const tracing = stack.use(await openServiceTracing(name, env, logger));
  const onError = (err: unknown) => logger.error({ err }, "a request to the broker has failed");
  const broker = stack.use(
    await openBroker({ ...brokerAddressOf(env), name, user: name, onError, ...topologyOf(env) }),
  );
  logForbidden(broker, logger);
  stack.use(observeBroker(broker, { metrics, service: name }));
  const watches = stack.use(new DependencyWatches({ service: name, logger, metrics }));
  const brokerWatch = stack.use(watchBroker(broker, env.REPRISE_SHARDS, watches));
  metrics.observeEach("reprise_broker_replicas_missing", () => [
    [{ service: name }, brokerWatch.missingReplicas()],
  ]);
  let serviceReasons: () => readonly string[] = () => ["starting"];
  const notReadyBecause = () => [
    ...new Set([...serviceReasons(), ...brokerWatch.because(), ...watches.because()]),
  ];
  const handler = createOpsHandler({ metrics, notReadyBecause });
  const opsServer = ops && stack.use(await startOpsServer(handler, ops));
  const { service, does, details, ...calls } = await start({
    broker,
    brokerWatch,
    watches,
    logger,
    metrics,
    tracing,
  });
  stack.use(service);
  serviceReasons = () => service.notReadyBecause();
  logger.info({ ...details, ops: opsServer?.url }, does);
  const running = stack.move();
  return { logger, drainMs, failed: brokerWatch.failed, stop: () => running.disposeAsync(), ...calls };
}

const EVERY_MS = 60_000;
const WORDS = 2;
const API = "$JS.API.";
/** Number of words in `$JS.API.STREAM.INFO`. */
const API_WORDS = 4;

/**
 * Logs what the broker refuses to this process's user, once a minute for each kind of subject: its first words, for the rest names
 * generations. The broker says it some time after the call, and a publish that is refused gets no other answer.
 */
export function logForbidden(broker: Pick<Broker, "onForbidden">, logger: Logger): void {
  const loggedAtMs = new Map<string, number>();
  broker.onForbidden(({ operation, subject }: Forbidden) => {
    const words = subject.startsWith(API) ? API_WORDS : WORDS;
    const kind = `${operation} ${subject.split(".", words).join(".")}`;
    const nowMs = performance.now();
    if (nowMs < (loggedAtMs.get(kind) ?? Number.NEGATIVE_INFINITY) + EVERY_MS) return;
    loggedAtMs.set(kind, nowMs);
    logger.error({ operation, subject }, "the broker refuses this to this process's user");
  });
}

interface TopologyEnvironment {
  readonly REPRISE_SHARDS: number;
  readonly REPRISE_REPLICAS: number;
  readonly REPRISE_RETENTION_HOURS: number;
}

/** Returns the topology of the broker's streams from the environment, as `packages/stream` takes it. */
export function topologyOf(env: TopologyEnvironment): {
  shards: number;
  replicas: number;
  retentionMs: number;
} {
  return {
    shards: env.REPRISE_SHARDS,
    replicas: env.REPRISE_REPLICAS,
    retentionMs: Math.round(env.REPRISE_RETENTION_HOURS * 3_600_000),
  };
}
