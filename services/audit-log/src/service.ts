import { openArchive } from "@reprise/archive";
import { type Broker, createGenerationLog, createWriterName } from "@reprise/log";
import { toRepriseError } from "@reprise/protocol";
import type { Logger, Metrics } from "@reprise/service";
import { GenerationKeys } from "./archiving/generation-keys.ts";
import type { BatchLimits } from "./archiving/lane-reader.ts";
import { laneStreams } from "./archiving/lane-kind.ts";
import { runLanes } from "./archiving/lanes.ts";
import { countPlaces } from "./archiving/places.ts";
import type { AuditStorage } from "./storage.ts";

export { AUDIT_NAMES } from "./config.ts";
export { type AuditStorage, openAuditStorage } from "./storage.ts";

export interface AuditLogOptions {
  /** Its own: reading history over a connection that readers share would hold them up. */
  broker: Broker;
  /** How many streams the logs are spread over. */
  shards: number;
  storage: AuditStorage;
  /** When a batch is sealed. Default: 20,000 messages, 5 s or 16 MiB. */
  limits?: BatchLimits;
  logger: Logger;
  metrics: Metrics;
}

export interface AuditLog extends AsyncDisposable {
  /** Why it can't archive now, in words for people: empty when it can. */
  notReadyBecause(): readonly string[];
  /** Archives what has been read, and closes. */
  close(): Promise<void>;
}

const LIMITS: BatchLimits = { maxMessages: 20_000, maxAgeMs: 5_000, maxBytes: 16 * 1_024 * 1_024 };

/** Starts to archive what the broker keeps. Its streams must exist. */
export async function startAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const { broker, shards, storage, limits = LIMITS, logger, metrics } = options;
  const { store, keyring, signer } = storage;
  const onError = (error: unknown) => {
    // What the absence of the broker or the store has held up is tried again.
    if (toRepriseError(error).retryable) logger.warn({ err: error }, "the audit log waits");
    else logger.error({ err: error }, "the audit log has failed");
  };
  const holder = createWriterName();
  const log = createGenerationLog(broker, onError);
  const archive = await openArchive({ store, name: storage.name, writer: { name: holder, signer, onError } });
  const events = metrics.counter("reprise_audit_events_total");
  const commits = metrics.counter("reprise_audit_commits_total");
  const lost = metrics.counter("reprise_audit_lost_total");
  let lagSeconds = 0;

  const lanes = runLanes({
    broker,
    publish: log.publish,
    streams: laneStreams(shards),
    holder,
    logger,
    archive,
    store,
    keyring,
    keys: new GenerationKeys(archive, keyring),
    limits,
    onCommitted({ lane }) {
      if (!lane) return;
      commits.inc();
      events.inc({}, lane.events);
      if (lane.last_at > 0) lagSeconds = Math.max(0, Date.now() / 1_000 - lane.last_at / 1_000_000);
      if (lane.gaps.length === 0) return;
      lost.inc({}, countPlaces(lane.gaps));
      const { stream, gaps } = lane;
      logger.error({ stream, gaps }, "messages had expired before they were archived: the archive has a gap");
    },
    onError,
  });
  metrics.observe("reprise_audit_lanes", () => lanes.size);
  metrics.observe("reprise_audit_lag_seconds", () => lagSeconds);

  const close = async () => {
    await lanes.close();
    log.close();
  };
  return {
    notReadyBecause: () => (log.connected ? [] : ["not connected to NATS"]),
    close,
    [Symbol.asyncDispose]: close,
  };
}
