import { Server as TlsServer } from "node:tls";
import { retry } from "@reprise/async";
import { type Broker, createAnalyticsClient, createAuditClient, createWriterName } from "@reprise/broker";
import { announceEnd, createGenerationLog, Hub, subscribeEnds, subscribeErasures } from "@reprise/stream";
import { createRuleSetStore, subscribeLateEvents } from "@reprise/moderation";
import { parseNodeId, type ServedBy } from "@reprise/protocol";
import {
  type BrokerWatch,
  createErrorLog,
  DependencyWatches,
  type Logger,
  type Metrics,
  observeLog,
} from "@reprise/runtime";
import {
  type BudgetLedger,
  createStreamTokens,
  openPlatformKeys,
  type TenantDirectory,
} from "@reprise/tenancy";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import { type BlobTimes, openBlobs } from "./blobs/open-blobs.ts";
import { openCreates } from "./create-steps.ts";
import { openConversations } from "./conversations/open-conversations.ts";
import { createAccessLog } from "./telemetry/access-log.ts";
import { createAuthentication } from "./http/auth.ts";
import { CorsPolicy } from "./http/cors.ts";
import type { Administration } from "./admin/administration.ts";
import type { DeliverySettings } from "./config.ts";
import type { ModelCatalogue } from "./limits/model-prices.ts";
import { openLimits } from "./limits/open-limits.ts";
import { RequestBodies } from "./bodies/request-bodies.ts";
import { ProjectedCaches } from "./projected/projected-caches.ts";
import { DeliveryMarks } from "./readers/delivery-marks/delivery-marks.ts";
import { RuleChecks } from "./review/rule-checks.ts";
import { watchModeration } from "./review/watch-moderation.ts";
import { LostJobs } from "./reaper/lost-jobs.ts";
import { Reaper } from "./reaper/reaper.ts";
import { reapedFault } from "./reaper/terminal-event.ts";
import { ARRIVAL_MS, buildServer, MAX_HEADER_BYTES } from "./server.ts";
import { httpSseFraming } from "./readers/streams/http-sse-framing.ts";
import { ReaderRegistry } from "./readers/reader-registry.ts";
import { refuseConnectStream } from "./connections/client-error.ts";
import { CertificateWatch, readCertificate } from "./connections/certificate.ts";
import { Http2Connections } from "./connections/http2.ts";
import { Threads } from "./threads/threads.ts";
import { TlsConnections } from "./connections/tls-connections.ts";
import { watchResponses } from "./connections/unsent-responses.ts";
import { countRefusedConnections } from "./telemetry/refused-connections.ts";
import { FleetWatch } from "./fleet/fleet-watch.ts";
import { observeDelivery } from "./observe-delivery.ts";
import { ReaderMetrics } from "./telemetry/reader-metrics.ts";
import { ReaderTraces } from "./readers/reader-traces.ts";
import { Stalls } from "./telemetry/stalls.ts";
import { RequestMetrics } from "./telemetry/request-metrics.ts";
import { RequestNotes } from "./telemetry/request-notes.ts";
import { RequestTraces } from "./telemetry/request-traces.ts";

export { loadServedModels, toDeliverySettings } from "./config.ts";
export { loadModelCosts } from "./limits/model-prices.ts";

export interface DeliveryOptions extends DeliverySettings, BlobTimes {
  broker: Broker;
  tenants: TenantDirectory;
  /** Ports of the admin API. Default: there is none. */
  administration?: Administration;
  models: ReadonlySet<string>;
  /** Prices of the models. Default: no model has a price, and budgets in money refuse all. */
  costs?: ModelCatalogue | undefined;
  /** Capabilities of the models. Default: unknown here, so the workers refuse requests that a model cannot serve. */
  served?: ReadonlyMap<string, ServedBy> | undefined;
  /** The classifiers that rules of requests may name. Default: any, for this node does not know them. */
  classifiers?: ReadonlySet<string> | undefined;
  /** Watches whether the broker takes appends. Default: it does while it is connected. */
  brokerWatch?: BrokerWatch;
  /** Watches of this node's dependencies. Default: its own. */
  watches?: DependencyWatches;
  logger: Logger;
  metrics: Metrics;
  /** Default: off. */
  tracing?: Tracing;
  /** After how long without a byte a reader is sent a heartbeat. Default 15 s, as PROTOCOL.md has it. */
  heartbeatMs?: number;
  /** Milliseconds that clients that do not read may hold up `close`. Default 3 s. */
  drainGraceMs?: number;
  /** For how long a presence record counts. Default `PRESENCE_LEASE_MS`. */
  readerLeaseMs?: number;
  /** Milliseconds that a limit check waits for Redis before this node decides alone. Default 250 ms. */
  redisTimeoutMs?: number;
  /** The process's ledger, if delivery shares it with the workers. Default: that of Redis, or its own. */
  ledger?: BudgetLedger | undefined;
  /** Milliseconds between two checks whether generations that hold a share of a limit have ended. Default 60 s. */
  limitCheckMs?: number;
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. Default 60 s, as in PROTOCOL.md. */
  arrivalMs?: number;
  /** Milliseconds between two reads of the certificate files. Default 10 s. */
  certificateCheckMs?: number;
  /**
   * Milliseconds that a call that changes a generation continues while the broker does not answer; at most 2 s if the broker is known to be unavailable when
   * the call begins. Default 20 s.
   */
  brokerBudgetMs?: number;
}

export interface Delivery extends AsyncDisposable {
  /** Where the API is, without a slash at the end. */
  readonly url: string;
  /** The reasons why it can't serve now, for people to read; empty when it can. */
  notReadyBecause(): readonly string[];
  /** Replaces the public names that requests may use. */
  setNames(names: Pick<DeliveryOptions, "models" | "costs" | "served" | "classifiers">): void;
  /** Stops being ready, and continues to serve. */
  announceStop(): void;
  /**
   * Stops being ready: new requests are refused and the readers there are disconnected. The port stays open, so that a load
   * balancer can see it.
   */
  drain(): void;
  /** Drains, finishes what was begun, and closes. */
  close(): Promise<void>;
}

const DRAIN_GRACE_MS = 3_000;
const SWEEP_MS = 50;
const CERTIFICATE_CHECK_MS = 10_000;

/** Starts the one thing that clients talk to. The broker's streams must exist. */
export async function startDelivery(options: DeliveryOptions): Promise<Delivery> {
  const { broker, tenants, logger, metrics, host, port, shards, hubBytes, corsOrigins } = options;
  const {
    maxConnectionsPerAddress,
    trustedProxies,
    accessLog,
    tls,
    certificateCheckMs = CERTIFICATE_CHECK_MS,
    requestBytes,
    arrivalMs,
    retentionMs,
    heartbeatMs,
    tracing = NO_TRACING,
    drainGraceMs = DRAIN_GRACE_MS,
    readerLeaseMs,
    brokerWatch,
    watches = new DependencyWatches({ service: "delivery", logger, metrics }),
  } = options;
  const certificate = tls && (await readCertificate(tls));
  const onError = createErrorLog({
    logger,
    waits: "delivery waits",
    failed: "a callback failed",
    watches,
    metrics,
  });
  // What a start that fails would leave open, and a process with it.
  await using stack = new AsyncDisposableStack();
  const { replicas } = options;
  const onStale = brokerWatch?.onStale;
  const platformKeys = stack.use(
    await openPlatformKeys({ connection: broker.main, replicas, onStale, onError }),
  );
  const tokens = createStreamTokens({ audience: options.tokenAudience, tenants, platform: platformKeys });
  const log = createGenerationLog(broker, {
    shards,
    budgetMs: options.brokerBudgetMs,
    observer: observeLog(metrics, "delivery"),
    isAway: () => brokerProblems().length > 0,
  });
  const brokerProblems = () => brokerWatch?.because() ?? (log.connected ? [] : ["not connected to NATS"]);
  const hub = new Hub({
    connection: broker.main,
    reader: log.reader,
    leader: log.leader,
    verdicts: log.verdicts,
    framing: httpSseFraming,
    maxBytes: hubBytes,
    ...watchModeration(log, metrics),
    onError,
  });
  stack.defer(() => hub.close());
  let names: Pick<DeliveryOptions, "models" | "costs" | "served" | "classifiers"> = options;
  const node = parseNodeId(createWriterName());
  const marks = new DeliveryMarks({
    publish: log.publish,
    node,
    onLost: (count) =>
      logger.warn({ marks: count }, "dropped delivery marks: the broker was away for too long"),
    onError,
  });
  const authentication = createAuthentication({
    tenants,
    tokens,
    operatorKeySha256: options.administration?.operatorKeySha256,
  });
  const readers = new ReaderRegistry({
    renew: (principal, role) => authentication.renewReader(principal, role),
    presence: { publish: log.publish, node, leaseMs: readerLeaseMs, onError },
    marks,
    heartbeatMs,
  });
  stack.defer(tenants.onChange((tenant) => readers.recheck(tenant)));
  stack.defer(platformKeys.onChange(() => readers.recheck()));
  const erasures = subscribeErasures(broker.main, { onErased: (ref) => hub.erase(ref), onError });
  stack.defer(() => erasures.unsubscribe());
  const lateEvents = subscribeLateEvents(broker.main, {
    onLate: (ref, seq) => hub.expect(ref, seq),
    onError,
  });
  stack.defer(() => lateEvents.unsubscribe());
  const draining = new AbortController();
  const corsPolicy = stack.use(new CorsPolicy(tenants, corsOrigins));
  const refusedRequests = metrics.counter("reprise_requests_refused_total");
  const onBusy = () => refusedRequests.inc();
  const bodies = new RequestBodies({ maxBytes: requestBytes, onRefused: onBusy });
  const blobs = stack.use(openBlobs({ ...options, log, onRefused: onBusy, onError }));
  const conversations = stack.use(openConversations({ ...options, log, onError }));
  const { limits, budgets, shared } = stack.use(
    await openLimits({
      ...options,
      watches,
      node,
      reader: log.reader,
      costsOf: (model) => names.costs?.get(model),
      onError,
    }),
  );
  const ends = subscribeEnds(broker.main, { onEnd: (ref, usage) => limits.ended(ref, usage), onError });
  stack.defer(() => ends.unsubscribe());
  const onRefused = countRefusedConnections({ logger, metrics, most: maxConnectionsPerAddress });
  const fleet = stack.use(new FleetWatch({ ...options, models: () => names.models, onError }));
  observeDelivery(metrics, { hub, readers, marks, bodies, isLocal: () => shared.isAway });

  const notes = new RequestNotes();
  const requestMetrics = new RequestMetrics(metrics, stack.use(new Stalls()));
  const traces = new RequestTraces({ tracing, authentication, notes, metrics: requestMetrics });

  const audit = createAuditClient(broker.reads);
  const analytics = createAnalyticsClient(broker.reads);

  let isStopping = false;
  const notReadyBecause = () => [...(isStopping ? ["draining"] : []), ...brokerProblems()];
  const announceStop = () => void (isStopping = true);
  const readerMetrics = new ReaderMetrics(metrics);
  const ruleChecks = new RuleChecks();
  const servedBy = (model: string) => names.served?.get(model);
  const modelNames = () => names.models;
  const classifiers = () => names.classifiers;
  const { create } = stack.use(
    openCreates({
      log,
      broker,
      shards,
      ruleSets: createRuleSetStore(log.publish, retentionMs),
      ruleChecks,
      classifiers,
      modelNames,
      servedBy,
      fleet,
      limits,
      budgets,
      bodies,
      blobs,
      conversations,
      hub,
      audit,
      logger,
      notes,
      readerMetrics,
      tracing,
      traces,
      onError,
    }),
  );
  const app = await buildServer({
    ports: {
      create,
      authentication,
      tokens,
      broker,
      log,
      hub,
      audit,
      analytics,
      fleet,
      projections: new ProjectedCaches(hub),
      readers,
      bodies,
      limits,
      blobs,
      conversations,
      threads: new Threads({
        publish: log.publish,
        reads: broker.reads,
        budgetMs: () => log.budgetMs,
      }),
      shards,
      modelNames,
      servedBy,
      logger,
      notes,
      requestMetrics,
      readerMetrics,
      traces,
      readerTraces: new ReaderTraces(tracing),
      draining: draining.signal,
    },
    admin: options.administration && {
      administration: options.administration,
      authentication,
      platformKeys,
      log,
      reads: broker.reads,
      analytics,
      budgets,
      ruleChecks,
      classifiers,
      logger,
    },
    corsPolicy,
    trustedProxies,
    accessLog:
      accessLog === "off"
        ? undefined
        : createAccessLog({
            logger,
            authentication,
            notes,
            traces,
            withAddress: accessLog === "with-address",
          }),
    connections: { perAddress: maxConnectionsPerAddress, onRefused },
    arrivalMs,
    certificate,
  });
  const tlsServer = app.server instanceof TlsServer ? app.server : undefined;
  const http2 =
    tlsServer &&
    new Http2Connections({
      listener: (request, response) => tlsServer.emit("request", request, response),
      onConnect: refuseConnectStream,
      arrivalMs: arrivalMs ?? ARRIVAL_MS,
      maxHeaderBytes: MAX_HEADER_BYTES,
    });
  const tlsConnections = tlsServer && http2 && new TlsConnections(tlsServer, http2);
  let certificateWatch: CertificateWatch | undefined;
  if (tlsServer && tls && certificate) {
    certificateWatch = stack.use(
      new CertificateWatch({
        server: tlsServer,
        files: tls,
        present: certificate,
        logger,
        everyMs: certificateCheckMs,
      }),
    );
  }
  const expiresAtS = () => certificateWatch?.expiresAtS ?? Number.NaN;
  metrics.observe("reprise_certificate_expires_timestamp_seconds", expiresAtS);
  const answers = watchResponses(app.server);
  const listening = await app.listen({ host, port });
  const url = tlsServer ? listening.replace(/^http:/, "https:") : listening;
  const reaped = metrics.counter("reprise_generations_reaped_total");
  const reaper = new Reaper({
    broker,
    log,
    logger,
    leaseMs: readerLeaseMs,
    onEnded(reason, ref) {
      reaped.inc({ reason, fault: reapedFault(reason) });
      announceEnd(broker.main, ref);
    },
  });
  const lostJobs = new LostJobs({ broker, log, logger, openCaches: () => hub.openCaches });

  const opened = stack.move();
  const drain = () => {
    announceStop();
    if (draining.signal.aborted) return;
    draining.abort();
    readers.drain();
    http2?.drain();
  };
  const close = async () => {
    drain();
    const giveUpAt = performance.now() + drainGraceMs;
    const isUnsent = () => answers.unsent || http2?.hasStreams === true;
    const areSent = async () => !isUnsent() || undefined;
    await retry(areSent, { pauseMs: SWEEP_MS, budgetMs: drainGraceMs });
    // Those that an answer has left idle meanwhile would else be kept open for further requests.
    const sweep = setInterval(() => {
      tlsConnections?.abortHandshakes();
      http2?.drain();
      if (performance.now() >= giveUpAt) {
        app.server.closeAllConnections();
        http2?.destroy();
      } else if (!answers.unsent) app.server.closeIdleConnections();
    }, SWEEP_MS);
    await app.close();
    http2?.destroy();
    clearInterval(sweep);
    await Promise.all([readers.close(), reaper.close(), lostJobs.close()]);
    await opened.disposeAsync();
  };
  return {
    url,
    notReadyBecause,
    setNames: (next) => (names = next),
    announceStop,
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}
