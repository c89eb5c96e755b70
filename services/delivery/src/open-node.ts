import { createAnalyticsClient, createAuditClient, createWriterName } from "@reprise/broker";
import { createRuleSetStore } from "@reprise/moderation";
import { BLOB_TTL_SECONDS, parseNodeId } from "@reprise/protocol";
import { createErrorLog, DependencyWatches } from "@reprise/runtime";
import { NO_TRACING } from "@reprise/runtime/telemetry";
import { subscribeEnds } from "@reprise/stream";
import { RequestBodies } from "./bodies/request-bodies.ts";
import { openCreates } from "./create-steps.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import { type OpenExtension, partOf } from "./extension.ts";
import * as extensions from "./extensions.ts";
import { FleetWatch } from "./fleet/fleet-watch.ts";
import { CorsPolicy } from "./http/cors.ts";
import { openCallers } from "./http/open-callers.ts";
import { InputWriters } from "./input/input-writers.ts";
import { openLimits } from "./limits/open-limits.ts";
import { observeDelivery } from "./observe-delivery.ts";
import { openLogs } from "./open-logs.ts";
import { Producers } from "./producers/producers.ts";
import { ProjectedCaches } from "./projected/projected-caches.ts";
import type { PublicNames } from "./public-names.ts";
import { openReaders } from "./readers/open-readers.ts";
import type { WaitedUntil } from "./reaper/inspect.ts";
import { ReaderTraces } from "./readers/reader-traces.ts";
import { RuleChecks } from "./review/rule-checks.ts";
import type { ServerOptions } from "./server.ts";
import { openTelemetry } from "./telemetry/open-telemetry.ts";
import { countRefusedConnections } from "./telemetry/refused-connections.ts";
import { Threads } from "./threads/threads.ts";

/** All parts of a delivery node but its sockets and its reaper. */
export interface DeliveryNode extends AsyncDisposable {
  readonly server: Pick<
    ServerOptions,
    "ports" | "moreRoutes" | "admin" | "corsPolicy" | "accessLog" | "connections"
  >;
  /** The reasons why the broker takes no appends now; empty when it does. */
  readonly brokerProblems: () => readonly string[];
  readonly waitedUntil: WaitedUntil | undefined;
}

/**
 * Opens the parts of a node in the order in which they need each other. They are closed in reverse order; readers have to be closed before that.
 * @param draining aborted when the node takes no more requests
 */
export async function openNode(
  options: DeliveryOptions,
  names: PublicNames,
  draining: AbortSignal,
): Promise<DeliveryNode> {
  // Closes what a failed start would leave open.
  await using stack = new AsyncDisposableStack();
  const { brokerProblems, corsPolicy, logRequest, opened, ...parts } = await openParts(options, names, stack);
  const { broker, log, hub, logger, metrics, tracing } = parts;
  const served = opened.map((extension) => extension.serve({ ...parts, draining }));
  const { create } = stack.use(openCreates({ ...parts, turns: partOf(served, "turns") }));
  const { administration, maxConnectionsPerAddress: most } = options;
  const ports = {
    ...parts,
    create,
    inputs: new InputWriters(parts),
    producers: stack.use(new Producers(parts)),
    responseTurns: partOf(served, "responseTurns"),
    projections: new ProjectedCaches(hub),
    threads: new Threads({ publish: log.publish, reads: broker.reads, budgetMs: () => log.budgetMs }),
    readerTraces: new ReaderTraces(tracing),
    draining,
    headWaitMs: options.headWaitMs,
  };
  const server = {
    ports,
    moreRoutes: served.map(({ routes }) => routes),
    admin: administration && { ...parts, administration, reads: broker.reads },
    corsPolicy,
    accessLog: logRequest,
    connections: { perAddress: most, onRefused: countRefusedConnections({ logger, metrics, most }) },
  };
  const owned = stack.move();
  return {
    server,
    brokerProblems,
    waitedUntil: partOf(served, "waitedUntil"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Opens what creates and routes share. */
async function openParts(options: DeliveryOptions, names: PublicNames, stack: AsyncDisposableStack) {
  const { broker, tenants, shards, logger, metrics, tracing = NO_TRACING } = options;
  const { watches = new DependencyWatches({ service: "delivery", logger, metrics }) } = options;
  const lines = { waits: "delivery waits", failed: "a callback failed" };
  const onError = createErrorLog({ logger, ...lines, watches, metrics });
  const refused = metrics.counter("reprise_requests_refused_total");
  const onRefused = () => refused.inc();
  const node = parseNodeId(createWriterName());
  const { costsOf, modelNames, servedBy, classifiers } = names;

  const operatorKeySha256 = options.administration?.operatorKeySha256;
  const callers = stack.use(await openCallers({ ...options, operatorKeySha256, onError }));
  const { authentication, tokens, platformKeys } = callers;
  const { log, hub, brokerProblems } = stack.use(openLogs({ ...options, onError }));
  const { publish, reader } = log;
  const { readers, marks } = stack.use(openReaders({ ...options, ...callers, publish, node, onError }));
  const corsPolicy = stack.use(new CorsPolicy(tenants, options.corsOrigins));
  const bodies = new RequestBodies({ maxBytes: options.requestBytes, onRefused });
  const blobTtlSeconds = options.blobTtlSeconds ?? BLOB_TTL_SECONDS;
  const extended = { ...options, log, blobTtlSeconds, onRefused, onError };
  const opened: OpenExtension[] = Object.values(extensions).map(({ open }) => stack.use(open(extended)));
  const counted = stack.use(await openLimits({ ...options, watches, node, reader, costsOf, onError }));
  const { limits, budgets, shared } = counted;
  const ends = subscribeEnds(broker.main, { onEnd: (ref, usage) => limits.ended(ref, usage), onError });
  stack.defer(() => ends.unsubscribe());
  const fleet = stack.use(new FleetWatch({ ...options, models: modelNames, onError }));
  observeDelivery(metrics, { hub, readers, marks, bodies, isLocal: () => shared.isAway });
  const telemetry = stack.use(openTelemetry({ ...options, authentication, tracing }));
  const { notes, requestMetrics, readerMetrics, traces, logRequest } = telemetry;
  return {
    broker,
    shards,
    logger,
    metrics,
    tracing,
    onError,
    authentication,
    tokens,
    platformKeys,
    log,
    hub,
    brokerProblems,
    readers,
    corsPolicy,
    bodies,
    blobTtlSeconds,
    opened,
    blobs: partOf(opened, "blobs"),
    limits,
    budgets,
    fleet,
    modelNames,
    servedBy,
    classifiers,
    notes,
    requestMetrics,
    readerMetrics,
    traces,
    logRequest,
    ruleChecks: new RuleChecks(),
    ruleSets: createRuleSetStore(publish, options.retentionMs),
    audit: createAuditClient(broker.reads),
    analytics: createAnalyticsClient(broker.reads),
  };
}
