import { ArchiveReader, openArchive, probeStore } from "@reprise/archive";
import { waitAtMost } from "@reprise/async";
import { type Broker, createGenerationLog, createWriterName } from "@reprise/log";
import { unixNow } from "@reprise/protocol";
import { type BrokerWatch, createErrorLog, type Logger, type Metrics } from "@reprise/service";
import { ArchiveWatch } from "./archive-watch.ts";
import { startAnswering } from "./answering/start-answering.ts";
import { createBrokerFencedStore } from "./archiving/broker-fenced-store.ts";
import { GenerationKeys } from "./archiving/generation-keys.ts";
import type { BatchLimits } from "./archiving/lane/lane-reader.ts";
import { laneStreams } from "./archiving/lane/lane-kind.ts";
import { runLanes } from "./archiving/lane/lanes.ts";
import { countSeqs } from "./archiving/ranges.ts";
import { SHUTDOWN_MS } from "./shutdown.ts";
import { ArchiveSearch } from "./search/archive-search.ts";
import { openFetchedFiles } from "./search/fetched-files.ts";
import { localFiles } from "./search/searchable-files.ts";
import { startMaintenance } from "./lifecycle/maintenance/maintenance.ts";
import type { KeptTenant } from "./kept-tenant.ts";
import type { AuditStorage } from "./storage.ts";
import { startWitnessing } from "./witnessing/start-witnessing.ts";

export { AUDIT_NAMES } from "./config.ts";
export { type AuditStorage, openAuditStorage } from "./storage.ts";

export interface AuditLogOptions {
  /** Its own: reading history over a connection that readers share would hold them up. */
  broker: Broker;
  /** Whether the broker takes appends: what its absence holds up is not logged. */
  brokerWatch?: BrokerWatch;
  /** How many streams the logs are spread over. */
  shards: number;
  storage: AuditStorage;
  /** Witnesses that are asked to cosign. Default: none. */
  witnessUrls?: readonly (string | Promise<string>)[] | undefined;
  /** How long to keep what of whom. */
  tenants: () => readonly KeptTenant[];
  /** When a batch is sealed. Default: 20,000 messages, 5 s or 16 MiB. */
  limits?: BatchLimits;
  logger: Logger;
  metrics: Metrics;
}

export interface AuditLog extends AsyncDisposable {
  /** Why it can't archive now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Archives what has been read, and closes. A store that is away holds that up for some seconds at most: others archive it then. */
  close(): Promise<void>;
}

/** What is kept of a store's files to search in. */
const CACHE_BYTES = 1_024 * 1_024 * 1_024;
const LIMITS: BatchLimits = { maxMessages: 20_000, maxAgeMs: 5_000, maxBytes: 16 * 1_024 * 1_024 };

/** Starts to archive what the broker keeps. Its streams must exist. */
export async function startAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { broker, brokerWatch, shards, storage, limits = LIMITS, logger, metrics } = options;
  const { keyring, signer, earlier, dir, cacheDir } = storage;
  await using stack = new AsyncDisposableStack();
  const archiveWatch = stack.use(new ArchiveWatch(logger));
  const logError = createErrorLog({
    logger,
    waits: "the audit log waits",
    failed: "the audit log has failed",
    brokerWatch,
    archiveWatch,
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
  if (options.witnessUrls) stack.use(startWitnessing({ archive, urls: options.witnessUrls, onError }));
  const files =
    dir === undefined
      ? await openFetchedFiles({ store, dir: cacheDir, maxBytes: CACHE_BYTES })
      : localFiles(dir);
  const reader = new ArchiveReader({ archive, keyring });
  const search = stack.use(new ArchiveSearch({ archive, keyring, files }));
  const events = metrics.counter("reprise_audit_events_total");
  const commits = metrics.counter("reprise_audit_commits_total");
  const lost = metrics.counter("reprise_audit_lost_total");
  /** Of what is read and not committed, the oldest of each stream: microseconds since 1970. */
  const waiting = new Map<string, number>();
  const oldestAgeSeconds = () =>
    waiting.size === 0 ? 0 : Math.max(0, (unixNow() * 1_000 - Math.min(...waiting.values())) / 1_000_000);

  // Closed at the same time: where the store is away one may wait for another.
  const closing: (() => Promise<void>)[] = [];
  stack.defer(async () => void (await Promise.all(closing.map((close) => close()))));
  const lanes = runLanes({
    broker,
    publish: log.publish,
    streams: laneStreams(shards),
    holder,
    logger,
    archive,
    store,
    keyring,
    keys: new GenerationKeys(archive, keyring, onError),
    limits,
    onRead({ stream, messages: [oldest] }) {
      if (oldest && !waiting.has(stream)) waiting.set(stream, oldest.storedAtUs);
    },
    onCommitted({ lane }) {
      archiveWatch.worked();
      if (!lane) return;
      commits.inc();
      events.inc({}, lane.events);
      waiting.delete(lane.stream);
      if (lane.gaps.length === 0) return;
      lost.inc({}, countSeqs(lane.gaps));
      const { stream, gaps } = lane;
      logger.error({ stream, gaps }, "messages had expired before they were archived: the archive has a gap");
    },
    onEnded: (stream) => waiting.delete(stream),
    onError,
  });
  closing.push(() => lanes.close());
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
  const answering = startAnswering({ connection: broker.main, archive, reader, search, onError });
  closing.push(() => waitAtMost(SHUTDOWN_MS, answering[Symbol.asyncDispose]()));

  const running = stack.move();
  const close = () => running.disposeAsync();
  return {
    notReadyBecause: () => [...(log.connected ? [] : ["not connected to NATS"]), ...archiveWatch.because()],
    close,
    [Symbol.asyncDispose]: close,
  };
}
