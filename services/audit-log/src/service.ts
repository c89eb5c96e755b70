import { ArchiveReader, type Commit, openArchive, probeStore } from "@reprise/archive";
import { waitAtMost } from "@reprise/async";
import {
  type Batch,
  type BatchLimits,
  countSeqs,
  createBrokerFencedStore,
  runLanes,
  SHUTDOWN_MS,
} from "@reprise/facts/lane";
import * as blobs from "@reprise/blobs";
import { type Broker, createWriterName } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { asUnixMs, LEASE_GROUPS, unixNow } from "@reprise/protocol";
import {
  type BrokerWatch,
  ConsumerPlaces,
  createErrorLog,
  DependencyWatches,
  type Logger,
  type Metrics,
  observeConsumer,
} from "@reprise/runtime";
import { watchArchive } from "./archive-watch.ts";
import { localFiles, openFetchedFiles } from "@reprise/facts/tables";
import { startAnswering } from "./answering/start-answering.ts";
import { archiveLane } from "./archiving/lane/lane-archiver.ts";
import { GenerationKeys } from "./archiving/generation-keys.ts";
import { laneStreams } from "./archiving/lane/lane-kind.ts";
import { ArchiveSearch } from "./search/archive-search.ts";
import { startMaintenance } from "./lifecycle/maintenance/maintenance.ts";
import type { Tracing } from "@reprise/runtime/telemetry";
import type { KeptTenant } from "./kept-tenants.ts";
import type { AuditStorage } from "./storage.ts";
import { startWitnessing } from "./witnessing/start-witnessing.ts";

export { AUDIT_NAMES } from "./config.ts";
export { type AuditStorage, openAuditStorage } from "./storage.ts";

export interface AuditLogOptions {
  /** Its own: reading history over a connection that readers share would hold them up. */
  broker: Broker;
  /** The dependencies of this service: a failure that the absence of one explains is not logged. Default: its own dependencies. */
  watches?: DependencyWatches;
  /** Number of streams of logs. */
  shards: number;
  storage: AuditStorage;
  /** Witnesses that are asked to cosign. Default: none. */
  witnessUrls?: readonly (string | Promise<string>)[] | undefined;
  /** Returns the tenants with their retention. */
  tenants: () => readonly KeptTenant[];
  /** True to log a line for each call that is answered over NATS. Default false. */
  accessLog?: boolean;
  /** When a batch is sealed. Default: 20,000 messages, 5 s or 16 MiB. */
  limits?: BatchLimits;
  logger: Logger;
  /** Gets the last sequences of the log streams. Default: the lag of this process in events is unknown. */
  brokerWatch?: Pick<BrokerWatch, "lastStreamSeq">;
  metrics: Metrics;
  /** Default: none. */
  tracing?: Tracing;
}

export interface AuditLog extends AsyncDisposable {
  /** Why it can't archive now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Archives what has been read, and closes. A store that is away holds that up for some seconds at most: others archive it then. */
  close(): Promise<void>;
}

/** Bytes of a store's files that are cached for searches. */
const CACHE_BYTES = 1_024 * 1_024 * 1_024;
const LIMITS: BatchLimits = { maxMessages: 20_000, maxAgeMs: 5_000, maxBytes: 16 * 1_024 * 1_024 };

/** Starts to archive what the broker keeps. Its streams must exist. */
export async function startAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { broker, shards, storage, limits = LIMITS, logger, metrics, tracing } = options;
  const { keyring, signer, earlier, dir, cacheDir } = storage;
  await using stack = new AsyncDisposableStack();
  const { watches = stack.use(new DependencyWatches({ service: "audit-log", logger, metrics })) } = options;
  const archiveWatch = watchArchive(watches);
  const logError = createErrorLog({
    logger,
    waits: "the audit log waits",
    failed: "the audit log has failed",
    watches,
    metrics,
  });
  const onError = (error: unknown) => {
    archiveWatch.failed(error);
    logError(error);
  };
  const holder = createWriterName();
  const log = createGenerationLog(broker);
  const store =
    (await probeStore(storage.store)) === "conditional"
      ? storage.store
      : createBrokerFencedStore(storage.store, {
          broker,
          publish: log.publish,
          archive: storage.name,
          onError,
        });
  const archive = await openArchive({
    store,
    name: storage.name,
    writer: { name: holder, signer, earlier, onError },
  });
  stack.defer(() => archive.close());
  // Closed after the lanes: what they archive last is cosigned too.
  if (options.witnessUrls)
    stack.use(startWitnessing({ archive, urls: options.witnessUrls, watches, logger, metrics, onError }));
  const files =
    dir === undefined
      ? await openFetchedFiles({ store, dir: cacheDir, maxBytes: CACHE_BYTES })
      : localFiles(dir);
  const reader = new ArchiveReader({ archive, keyring });
  const search = stack.use(new ArchiveSearch({ archive, keyring, files }));
  const events = metrics.counter("reprise_audit_events_total");
  const commits = metrics.counter("reprise_audit_commits_total");
  const commitSeconds = metrics.histogram("reprise_audit_commit_seconds");
  const bytes = metrics.counter("reprise_audit_archived_bytes_total");
  const lost = metrics.counter("reprise_audit_lost_total");
  /** Time of the oldest message of each stream that is read and not committed: microseconds since 1970. */
  const waiting = new Map<string, number>();
  const places = new ConsumerPlaces(options.brokerWatch);
  const oldestAgeSeconds = () =>
    waiting.size === 0 ? 0 : Math.max(0, (unixNow() * 1_000 - Math.min(...waiting.values())) / 1_000_000);

  // Closed at the same time: where the store is away one may wait for another.
  const closing: (() => Promise<void>)[] = [];
  stack.defer(async () => void (await Promise.all(closing.map((close) => close()))));
  const context = {
    connection: broker.reads,
    archive,
    store,
    keyring,
    keys: new GenerationKeys(archive, keyring, onError),
    copies: {
      storage: blobs.createBlobStorage({ broker, publish: log.publish }),
      isWanted: (tenant: string) =>
        options.tenants().find(({ id }) => id === tenant)?.audit.blobs === "content",
    },
    limits,
    tracing,
    onRead({ stream, messages: [oldest] }: Batch) {
      if (!oldest) return;
      places.read(stream, { ...oldest, storedAtMs: asUnixMs(oldest.storedAtUs / 1_000) });
      if (!waiting.has(stream)) waiting.set(stream, oldest.storedAtUs);
    },
    onCommitted({ lane, tenants }: Commit, ms: number) {
      archiveWatch.worked();
      if (!lane) return;
      commits.inc();
      commitSeconds.observe(ms / 1_000);
      for (const { files: committed } of tenants) for (const file of committed) bytes.inc(file.bytes);
      for (const { tenant, records } of tenants)
        for (const record of records)
          if (record.kind === "blob_missed" && record.reason !== "erased")
            logger.error(
              { tenant, blob: record.blob, reason: record.reason },
              "the content of a blob was gone before it could be archived",
            );
      events.inc({}, lane.events);
      waiting.delete(lane.stream);
      places.settled(lane.stream, lane.last);
      if (lane.gaps.length === 0) return;
      lost.inc({}, countSeqs(lane.gaps));
      const { stream, gaps } = lane;
      logger.error({ stream, gaps }, "messages had expired before they were archived: the archive has a gap");
    },
    onError,
  };
  const lanes = runLanes({
    broker,
    publish: log.publish,
    group: LEASE_GROUPS.lanes,
    streams: laneStreams(shards),
    holder,
    run: (stream, signal) => archiveLane({ ...context, stream }, signal),
    onEnded(stream) {
      waiting.delete(stream);
      places.forget(stream);
    },
    onFenced: (stream) =>
      logger.warn({ stream }, "fenced: another replica archives this stream; its lease is given up"),
    onError,
  });
  closing.push(() => lanes.close());
  observeConsumer(metrics, "audit-log", { events: places.events });
  metrics.observe("reprise_audit_lanes", () => lanes.size);
  metrics.observe("reprise_audit_lag_seconds", oldestAgeSeconds);

  const live = { broker, log, shards };
  const maintenance = startMaintenance({
    archive,
    store,
    keyring,
    live,
    holder,
    tenants: options.tenants,
    onError,
  });
  closing.push(() => maintenance.close());
  const answering = startAnswering({
    connection: broker.main,
    archive,
    reader,
    search,
    onAnswered: (line) => options.accessLog && logger.info(line, "request"),
    onError,
  });
  closing.push(() => waitAtMost(SHUTDOWN_MS, answering[Symbol.asyncDispose]()));

  const running = stack.move();
  const close = () => running.disposeAsync();
  return {
    notReadyBecause: () => [...(log.connected ? [] : ["not connected to NATS"]), ...archiveWatch.because()],
    close,
    [Symbol.asyncDispose]: close,
  };
}
