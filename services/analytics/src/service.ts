import type { BlobStore } from "@reprise/archive";
import { type Batch, type BatchLimits, runLanes } from "@reprise/facts/lane";
import { type Broker, createWriterName } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { asUnixMs, generationsStream, LEASE_GROUPS, OPS_STREAM } from "@reprise/protocol";
import {
  createErrorLog,
  DependencyWatches,
  type Logger,
  type Metrics,
  type BrokerWatch,
  ConsumerPlaces,
  observeConsumer,
  observeUnread,
} from "@reprise/runtime";
import type { Tracing } from "@reprise/runtime/telemetry";
import { keepChecked } from "./facts/identity/store-identity.ts";
import { type RecordedLaneOptions, recordLane } from "./facts/identity/recorded-lane.ts";
import type { KeptListing } from "./facts/listing/kept-listing.ts";
import type { RowSource } from "./facts/row-source.ts";
import { keepForgotten } from "./lanes/keep-forgotten.ts";
import { keepTidy } from "./lanes/keep-tidy.ts";
import { runLogLane } from "./lanes/log-lane.ts";
import { runOpsLane } from "./lanes/ops-lane.ts";
import { Losses } from "./losses.ts";
import { openStore } from "./open-store.ts";
import { LanePlaces } from "./progress/lane-places.ts";
import { LaneProgress } from "./progress/lane-progress.ts";
import { startAnswering } from "./queries/start-answering.ts";
import { createStreamSink } from "./sinks/stream-sink.ts";
import { feedUsage } from "./sinks/usage-feed.ts";
import type { UsageSink } from "./sinks/usage-sink.ts";
import { StoreHealth } from "./store-health.ts";
import { TenantMetrics } from "./tenant-metrics.ts";
import type { UsageSettings } from "./usage.ts";

export { ANALYTICS_NAMES, parseAnalyticsEnvironment } from "./config.ts";
export { loadPrices, type Prices } from "./load-prices.ts";
export { type AnalyticsStorage, openAnalyticsStorage } from "./storage.ts";
export { toUsageSinks, type UsageSettings } from "./usage.ts";

export interface AnalyticsOptions {
  /** Its own: reading history over a connection that readers share would hold them up. */
  broker: Broker;
  /** The dependencies of the process. Default: its own. */
  watches?: DependencyWatches;
  /** Number of streams of logs. */
  shards: number;
  /** Where rows are kept. */
  store: BlobStore;
  /** Opens the rows for reading; they are closed with the service. */
  openRows: (listing: KeptListing) => Promise<RowSource & AsyncDisposable>;
  /** Keys of requests' metadata that rows have. */
  keys: readonly string[];
  /** Number of tenants that metrics name. Default 100. */
  metricTenants?: number;
  /** Default: nowhere. */
  usage?: UsageSettings;
  /** When a batch is committed. Default: 20,000 messages, 5 s or 16 MiB. */
  limits?: BatchLimits;
  /** True to log a line for each answered question. Default false. */
  accessLog?: boolean | undefined;
  logger: Logger;
  /** Gets the last sequences of the streams. Default: the lag of this process in events is unknown. */
  brokerWatch?: Pick<BrokerWatch, "lastStreamSeq">;
  metrics: Metrics;
  /** Default: none. */
  tracing?: Tracing;
}

export interface Analytics extends AsyncDisposable {
  /** Why it can't measure now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Commits what has been read, and closes. */
  close(): Promise<void>;
}

/** A store of which no failure is reported for so long is back. Longer than a request to one may hang. */
const QUIET_MS = 60_000;
/** Longer than a feed of usage pauses between two tries. */
const FEED_QUIET_MS = 150_000;
/** The part of the service that looks whether the store is there. */
const STORE = "store";
const METRIC_TENANTS = 100;
const LIMITS: BatchLimits = { maxMessages: 20_000, maxAgeMs: 5_000, maxBytes: 16 * 1_024 * 1_024 };

/** Starts to fold what the broker keeps into rows. Its streams must exist. */
export async function startAnalytics(options: AnalyticsOptions): Promise<Analytics> {
  const { broker, shards, keys, limits = LIMITS, logger, metrics, tracing } = options;
  await using stack = new AsyncDisposableStack();
  const { watches = stack.use(new DependencyWatches({ service: "analytics", logger, metrics })) } = options;
  const storeWatch = watches.add({
    name: "analytics-store",
    gone: "the store of analytics takes no commits",
    back: "the store of analytics takes commits again",
    reports: "each",
    quietMs: QUIET_MS,
    explains: "archive_unavailable",
    notReady: (because) => `the store takes no commits: ${because}`,
  });
  const logError = createErrorLog({
    logger,
    waits: "analytics waits",
    failed: "analytics has failed",
    watches,
    metrics,
  });
  const health = new StoreHealth(storeWatch);
  const onErrorOf = (part: string) => (error: unknown) => {
    if (!health.failed(part, error)) logError(error);
  };
  const log = createGenerationLog(broker);
  const logStreams = Array.from({ length: shards }, (_, shard) => generationsStream(shard));
  const streams = [...logStreams, OPS_STREAM];
  const { store, openRows } = options;
  const opened = await openStore({
    store,
    openRows,
    broker,
    publish: log.publish,
    streams,
    onError: onErrorOf(STORE),
  });
  const { facts, identity, records } = opened;
  const rowSource = stack.use(opened.rows);
  stack.use(
    keepChecked({
      identity,
      onFound: () => health.worked(STORE),
      onError: onErrorOf(STORE),
    }),
  );
  const recording = (stream: string): RecordedLaneOptions => ({
    stream,
    identity,
    records,
    connection: broker.reads,
    onWorked: () => health.worked(stream),
    onEarlier(kept, { last }) {
      opened.goBack();
      const line = "the store of analytics is a copy of an earlier time: what it lacks is read again";
      logger.warn({ stream, kept: kept?.last ?? 0, last }, line);
    },
    onError: logError,
  });
  const rows = metrics.counter("reprise_analytics_rows_total");
  const forgotten = metrics.counter("reprise_analytics_forgotten_total");
  const folded = metrics.counter("reprise_analytics_events_total");
  const strays = metrics.counter("reprise_analytics_strays_total");
  const losses = new Losses(metrics, logger);
  const tenants = new TenantMetrics(metrics, options.metricTenants ?? METRIC_TENANTS);
  const open = new Map<string, number>();
  const places = new ConsumerPlaces(options.brokerWatch);
  observeConsumer(metrics, "analytics", places);
  const readPlace = (stream: string, { messages: [first] }: Batch) => {
    if (first) places.read(stream, { ...first, storedAtMs: asUnixMs(first.storedAtUs / 1_000) });
  };
  const lanePlaces = new LanePlaces(facts);
  const progress = new LaneProgress({ connection: broker.reads, places: lanePlaces });
  observeUnread(metrics, "analytics", () => progress.unreadRatio);
  /** Restarts a lane from the store after an error: a store that was restored may have less than was committed. */
  const onLaneError = (stream: string) => (error: unknown) => {
    lanePlaces.ended(stream);
    opened.ended(stream);
    onErrorOf(stream)(error);
  };
  const deliveries = metrics.counter("reprise_analytics_deliveries_total");
  let openConnections = 0;
  const delivered = metrics.counter("reprise_usage_events_total");
  const {
    sinks: given = [],
    isStreamed = false,
    source = "",
    priceOf = () => undefined,
  } = options.usage ?? {};
  const sinks = isStreamed ? [...given, createStreamSink(log.publish)] : given;
  const outlets = sinks.map((sink) => ({
    sink,
    watch: watchSink(watches, sink),
    failing: new Set<string>(),
  }));
  const startFeeds = (stream: string, signal: AbortSignal) =>
    Promise.all(
      outlets.map(({ sink, watch, failing }) =>
        feedUsage(
          {
            outbox: facts.outbox(sink.name, stream),
            sink,
            usageOf: ({ model, requested_model: requested }) => ({
              source,
              price: priceOf(model ?? requested),
            }),
            onDelivered(events) {
              // Back once all streams' usage goes out again.
              failing.delete(stream);
              if (failing.size === 0) watch.worked();
              delivered.inc({ sink: sink.name }, events);
            },
            onError(error) {
              failing.add(stream);
              watch.failed(describeError(error));
            },
          },
          signal,
        ).finally(() => failing.delete(stream)),
      ),
    );
  const runLogs = async (stream: string, signal: AbortSignal) => {
    const ended = new AbortController();
    const feeds = startFeeds(stream, AbortSignal.any([signal, ended.signal]));
    const tidying = keepTidy(
      { tidier: facts.tidier(stream), connection: broker.reads, stream, onError: logError },
      AbortSignal.any([signal, ended.signal]),
    );
    const forgetting = keepForgotten(
      {
        facts,
        rows: rowSource,
        connection: broker.reads,
        stream,
        onForgotten: (count) => forgotten.inc({}, count),
        onError: logError,
      },
      AbortSignal.any([signal, ended.signal]),
    );
    const end = await runLogLane(
      {
        connection: broker.reads,
        stream,
        facts: recordLane(facts.lane(stream), recording(stream)),
        keys,
        limits,
        tracing,
        onRead: (batch) => readPlace(stream, batch),
        onCommitted(batch) {
          places.settled(stream, batch.position.last);
          lanePlaces.committed(stream, batch.position);
          losses.ofLogs(stream, batch.lost);
          rows.inc({}, batch.rows.length);
          tenants.committed(batch.rows);
          folded.inc({}, batch.events);
          strays.inc({}, batch.strays + batch.givenUp);
          open.set(stream, batch.open);
        },
        onError: onLaneError(stream),
      },
      signal,
    );
    ended.abort();
    await Promise.all([feeds, tidying, forgetting]);
    return end;
  };
  const runOps = async (signal: AbortSignal) => {
    const ended = new AbortController();
    const tidying = keepTidy(
      { tidier: facts.tidier(OPS_STREAM), connection: broker.reads, stream: OPS_STREAM, onError: logError },
      AbortSignal.any([signal, ended.signal]),
    );
    const end = await runOpsLane(
      {
        connection: broker.reads,
        stream: OPS_STREAM,
        facts: recordLane(facts.deliveries(OPS_STREAM), recording(OPS_STREAM)),
        limits,
        tracing,
        onRead: (batch) => readPlace(OPS_STREAM, batch),
        onCommitted(batch) {
          places.settled(OPS_STREAM, batch.position.last);
          lanePlaces.committed(OPS_STREAM, batch.position);
          losses.ofDeliveries(OPS_STREAM, batch.lost);
          deliveries.inc({}, batch.rows.length);
          openConnections = batch.open;
        },
        onError: onLaneError(OPS_STREAM),
      },
      signal,
    );
    openConnections = 0;
    ended.abort();
    await tidying;
    return end;
  };
  const lanes = runLanes({
    broker,
    publish: log.publish,
    group: LEASE_GROUPS.analytics,
    streams,
    holder: createWriterName(),
    run: (stream, signal) => (stream === OPS_STREAM ? runOps(signal) : runLogs(stream, signal)),
    onEnded(stream) {
      open.delete(stream);
      places.forget(stream);
      lanePlaces.ended(stream);
      opened.ended(stream);
      health.forget(stream);
    },
    onFenced: (stream) =>
      logger.warn({ stream }, "fenced: another replica measures this stream; its lease is given up"),
    onError: logError,
  });
  const rowsWatch = watches.add({
    name: "analytics-rows",
    gone: "the rows of analytics can't be read; questions are answered with an error",
    back: "the rows of analytics can be read again",
    reports: "each",
    graceMs: 0,
    causedBy: storeWatch,
  });
  stack.use(
    startAnswering({
      connection: broker.main,
      completeUntil: ({ withDelivery }) =>
        progress.completeUntil(withDelivery ? [...logStreams, OPS_STREAM] : logStreams),
      rows: rowSource,
      keys,
      priceOf,
      onAsked: (line) => options.accessLog && logger.info(line, "request"),
      onAnswered: () => rowsWatch.worked(),
      onUnreadable: (error) => rowsWatch.failed(describeError(error)),
      onError: logError,
    }),
  );
  metrics.observe("reprise_analytics_lanes", () => lanes.size);
  metrics.observe("reprise_analytics_open_generations", () => sumOf(open.values()));
  metrics.observe("reprise_analytics_open_connections", () => openConnections);
  const watching = new AbortController();
  void progress.watch([...logStreams, OPS_STREAM], watching.signal);
  stack.defer(() => watching.abort());
  stack.defer(() => lanes.close());
  const running = stack.move();
  const close = () => running.disposeAsync();
  return {
    notReadyBecause: () => [...(log.connected ? [] : ["not connected to NATS"]), ...watches.because()],
    close,
    [Symbol.asyncDispose]: close,
  };
}

function watchSink(watches: DependencyWatches, { name }: UsageSink) {
  return watches.add({
    name: `usage-${name}`,
    gone: "usage is not delivered",
    back: "usage is delivered again",
    fields: { sink: name },
    reports: "each",
    quietMs: FEED_QUIET_MS,
  });
}

/** `fetch` says why it has failed in its cause. */
function describeError(error: unknown): string {
  const { cause = error } = error instanceof Error ? error : {};
  return cause instanceof Error ? cause.message : String(cause);
}

function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}
