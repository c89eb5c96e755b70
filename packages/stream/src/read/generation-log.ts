import { type Broker, createPublish, type Publish, type PublishOutcome, inboxOf } from "@reprise/broker";
import { type LogObserver, createLogReader, type LogReader } from "./log-reader.ts";
import { createLeaderReader, type LeaderReader } from "./leader-reader.ts";
import { type GenerationRef, yieldSubject } from "@reprise/protocol";
import { createVerdictReader, type VerdictReader } from "@reprise/moderation";

/** Reads and writes logs over one broker's connections. */
export interface GenerationLog {
  /** Large messages go apart from small ones, which they would hold up. */
  readonly publish: Publish;
  /** For checkpoints: uses the connection that reads history, so that no append waits for a large checkpoint. */
  readonly publishCheckpoint: Publish;
  /** Asks the log's worker to leave a pause between two appends, after a publish that met a conflict. The request may be lost. */
  readonly requestYield: (ref: GenerationRef) => void;
  readonly reader: LogReader;
  readonly leader: LeaderReader;
  readonly verdicts: VerdictReader;
  /** The largest checkpoint that the broker takes. */
  readonly maxCheckpointBytes: number;
  /** Milliseconds for which a call that begins now keeps trying to change a log while the broker does not answer. */
  readonly budgetMs: number;
  /** True if all connections are established at this moment. */
  readonly connected: boolean;
}

const MAX_CHECKPOINT_BYTES = 4 * 1_024 * 1_024;
const HEADER_ROOM = 4_096;
const LARGE_BYTES = 64 * 1_024;
/** An election takes up to 10 s. */
const BUDGET_MS = 20_000;
/** While the broker is known to be away: enough for one that is just coming back. */
const AWAY_BUDGET_MS = 2_000;

export interface GenerationLogOptions {
  /** Number of streams that the logs are spread over: generation ids that clients make up may name others. Default: unknown, the broker is asked. */
  readonly shards?: number | undefined;
  /** Default 20 s. */
  readonly budgetMs?: number | undefined;
  /** True if the broker is known to take no appends: calls that begin meanwhile keep trying for at most 2 s. Default: never. */
  readonly isAway?: (() => boolean) | undefined;
  /** Is told how long the broker takes. Default: nothing is. */
  readonly observer?: LogObserver | undefined;
}

export function createGenerationLog(
  broker: Broker,
  { shards, budgetMs = BUDGET_MS, isAway = () => false, observer }: GenerationLogOptions = {},
): GenerationLog {
  const writes = inboxOf(broker.main);
  const reads = inboxOf(broker.reads);
  const bulk = inboxOf(broker.bulk);
  const onOutcome =
    observer &&
    ((kind: PublishOutcome["kind"], ms: number, isEvent: boolean) => {
      if (isEvent) observer.appended(kind, ms);
    });
  const publishSmall = createPublish(writes, onOutcome);
  const publishLarge = createPublish(bulk, onOutcome);
  const leader = createLeaderReader(broker.reads, shards);
  const maxPayload = broker.main.info?.max_payload ?? 0;
  return {
    publish: (subject, payload, options) =>
      (payload.length > LARGE_BYTES ? publishLarge : publishSmall)(subject, payload, options),
    publishCheckpoint: createPublish(reads, observer && ((kind) => observer.checkpointed(kind))),
    requestYield: (ref) => {
      if (!broker.main.isClosed()) broker.main.publish(yieldSubject(ref));
    },
    reader: createLogReader(broker.reads, leader, { shards, observer }),
    leader,
    verdicts: createVerdictReader(broker.reads),
    maxCheckpointBytes: Math.min(MAX_CHECKPOINT_BYTES, maxPayload - HEADER_ROOM),
    get budgetMs() {
      return isAway() ? Math.min(AWAY_BUDGET_MS, budgetMs) : budgetMs;
    },
    get connected() {
      return writes.connected && reads.connected && bulk.connected;
    },
  };
}
