import { Semaphore } from "@reprise/async";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  CHECKPOINTS_STREAM,
  checkpointSubject,
  type GenerationRef,
  logSubject,
  peekSeq,
  RepriseError,
  shardOf,
  streamOf,
  type StreamSeq,
  plus,
  STREAM_START,
} from "@reprise/protocol";
import {
  HEADER,
  isRefusal,
  getBatchDirect,
  getLastDirect,
  storedAtOf,
  streamSeqOf,
  getStreamInfo,
  type NoReply,
  type PublishOutcome,
} from "@reprise/broker";
import { decodeCheckpoint } from "./decode-checkpoint.ts";
import type { LeaderReader } from "./leader-reader.ts";
import { headOf, isHead, type LogHead, readAfterHead } from "./log-head.ts";
import { generationErased, generationExpired } from "./expired-or-erased.ts";
import type { LogSnapshot, StoredEvent } from "./stored-event.ts";

/** Kind of a read: a subject's last message, or the messages after a place. */
type LogRead = "last" | "batch";

/** Is told how long the broker takes, with each answer or its absence. It has to be short, and must not throw. */
export interface LogObserver {
  /** An event was published. */
  appended(outcome: PublishOutcome["kind"], ms: number): void;
  checkpointed(outcome: PublishOutcome["kind"]): void;
  read(kind: LogRead, ms: number): void;
}

/**
 * Reads logs with direct gets, which any replica answers: what it says is true, but may be a moment old. Only `readLog` asks
 * the leader, before it says that a log is empty or that a checkpoint is void, and `readFirst`.
 * All calls throw RepriseError `broker_unavailable` when no answer comes in time.
 */
export interface LogReader {
  /**
   * The whole log: the checkpoint, then the tail after it. The log decides: if it does not have the checkpoint's last event at its place, byte for byte,
   * the log alone counts.
   * @throws RepriseError `generation_expired` when only a checkpoint is kept, or the broker's marker in its place; `generation_erased` when the log was
   *   erased, for as long as that marker is kept
   */
  readLog(ref: GenerationRef): Promise<LogSnapshot>;
  /**
   * The oldest event that is kept, as the leader knows it; undefined for a log that has none. One round trip for a log that has its
   * seq 0. An erasure that has not purged the log yet is not noticed then.
   * @throws RepriseError as `readLog` does, where the log's seq 0 is missing
   */
  readFirst(ref: GenerationRef): Promise<StoredEvent | undefined>;
  /** The events stored after a stream sequence, oldest first. */
  readTail(ref: GenerationRef, afterStreamSeq: StreamSeq): Promise<StoredEvent[]>;
  /** One small batch of it; `more` says whether another would find more. */
  readBatch(ref: GenerationRef, afterStreamSeq: StreamSeq): Promise<{ events: StoredEvent[]; more: boolean }>;
  /** The last event, or undefined for a generation that has none. */
  readLast(ref: GenerationRef): Promise<StoredEvent | undefined>;
}

/**
 * Small, because nats-server blocks writes to the stream while it collects a batch, and collecting means scanning past
 * all other generations' events.
 */
const BATCH = { maxMessages: 64, maxBytes: 256 * 1_024 };
/** A server that hangs takes its share of the requests along; the next try may reach another one. Together 5 s. */
const TRIES_MS = [1_500, 1_500, 2_000] as const;
const INFO_MS = 2_000;
/** Longest wait of a read for its turn. */
const TURN_MS = 5_000;
/**
 * Answers under way at once, so that they hold 48 MiB at most: the broker closes a connection to which 64 MiB are waiting. A checkpoint has
 * up to 4 MiB.
 */
const AT_ONCE = { checkpoints: 8, events: 64 } as const;

export interface LogReaderOptions {
  /** Number of shards. Logs in other shards are reported as empty without asking the broker: this process may not read any such streams. */
  readonly shards?: number | undefined;
  /** Is told how long reads take. */
  readonly observer?: Pick<LogObserver, "read"> | undefined;
}

export function createLogReader(
  connection: NatsConnection,
  leader: LeaderReader,
  { shards = Number.POSITIVE_INFINITY, observer }: LogReaderOptions = {},
): LogReader {
  const isInShard = ({ generation }: GenerationRef) => shardOf(generation) < shards;
  const checkpointTurns = new Semaphore(AT_ONCE.checkpoints);
  const eventTurns = new Semaphore(AT_ONCE.events);

  async function readLog(ref: GenerationRef): Promise<LogSnapshot> {
    const found = await getLast(CHECKPOINTS_STREAM, checkpointSubject(ref));
    if (found?.headers?.has(HEADER.erased)) throw generationErased();
    const checkpoint = found && decodeCheckpoint(found.data, found.headers?.get(HEADER.checkpointStreamSeq));
    const tail = checkpoint && (await readAfterHead({ readTail }, ref, headOf(checkpoint)));
    if (tail) return join(checkpoint, tail);
    const log = await readTail(ref, STREAM_START);
    if (checkpoint && (await isAtLeader(ref, headOf(checkpoint), log))) return checkpoint;
    // A replica that lags knows nothing of a new generation: only the leader can tell that there is none.
    const events = log.length > 0 ? log : await leader.readTail(ref, STREAM_START);
    if (events.length === 0 && found) throw generationExpired();
    return join(EMPTY, events);
  }

  /**
   * True if the leader has the event that a checkpoint ends with, though the replica that was asked does not: the replica lags. Otherwise the store was
   * rolled back, or the event has expired, and the checkpoint is void. Without a leader the replica's events are used.
   */
  async function isAtLeader(
    ref: GenerationRef,
    head: LogHead,
    shown: readonly StoredEvent[],
  ): Promise<boolean> {
    try {
      const [event] = await leader.readTail(ref, plus(head.streamSeq, -1), 1);
      return isHead(event, head);
    } catch (error) {
      if (shown.length > 0) return false;
      throw error;
    }
  }

  async function readFirst(ref: GenerationRef): Promise<StoredEvent | undefined> {
    const first = await readOldest(ref);
    // A checkpoint is as large as its log.
    if (first && peekSeq(first.payload) === 0) return first;
    const checkpoint = await getLast(CHECKPOINTS_STREAM, checkpointSubject(ref));
    if (checkpoint?.headers?.has(HEADER.erased)) throw generationErased();
    if (checkpoint && !first) throw generationExpired();
    return first;
  }

  /** Without a leader an event that a replica has is used; only the leader can tell that there is none. */
  async function readOldest(ref: GenerationRef): Promise<StoredEvent | undefined> {
    try {
      const [oldest] = await leader.readTail(ref, STREAM_START, 1);
      return oldest;
    } catch (error) {
      const [oldest] = (await readBatch(ref, STREAM_START)).events;
      if (oldest) return oldest;
      throw error;
    }
  }

  async function readTail(ref: GenerationRef, afterStreamSeq: StreamSeq): Promise<StoredEvent[]> {
    const all: StoredEvent[] = [];
    for (let after = afterStreamSeq, more = true; more;) {
      const batch = await readBatch(ref, after);
      all.push(...batch.events);
      more = batch.more && batch.events.length > 0;
      after = all.at(-1)?.streamSeq ?? after;
    }
    return all;
  }

  async function readBatch(
    ref: GenerationRef,
    afterStreamSeq: StreamSeq,
  ): Promise<{ events: StoredEvent[]; more: boolean }> {
    if (!isInShard(ref)) return { events: [], more: false };
    const stream = streamOf(ref.generation);
    const request = { ...BATCH, afterStreamSeq, subject: logSubject(ref) };
    const read = () => getBatchDirect(connection, stream, request, TRIES_MS);
    const batch = await timed("batch", read).catch(undefinedIfAbsent(stream));
    return { events: batch?.messages.map(toStoredEvent) ?? [], more: batch?.more ?? false };
  }

  async function readLast(ref: GenerationRef): Promise<StoredEvent | undefined> {
    if (!isInShard(ref)) return undefined;
    const msg = await getLast(streamOf(ref.generation), logSubject(ref));
    return msg && { ...toStoredEvent(msg), storedAt: storedAtOf(msg) };
  }

  const getLast = (stream: string, subject: string) => {
    const read = () => getLastDirect(connection, stream, subject, TRIES_MS);
    const turns = stream === CHECKPOINTS_STREAM ? checkpointTurns : eventTurns;
    return timed("last", read, turns).catch(undefinedIfAbsent(stream));
  };

  async function timed<T>(kind: LogRead, read: () => Promise<T>, turns = eventTurns): Promise<T> {
    const late = AbortSignal.timeout(TURN_MS);
    try {
      return await turns.run(() => {
        const askedAtMs = performance.now();
        return read().finally(() => observer?.read(kind, performance.now() - askedAtMs));
      }, late);
    } catch (error) {
      throw error === late.reason ? tooManyReads() : error;
    }
  }

  /**
   * A generation id names its shard, and a client may make one up: in a stream that does not exist every log is empty. A direct get has no
   * responders then, as it has none during an election, and the broker is asked whether there is such a stream.
   */
  const undefinedIfAbsent = (stream: string) => async (error: unknown) => {
    const reason = error instanceof RepriseError ? error.cause : undefined;
    if (reason === ("no_responders" satisfies NoReply) && (await isAbsent(stream))) return undefined;
    throw error;
  };

  /** False also when the broker does not say. */
  const isAbsent = (stream: string) =>
    getStreamInfo(connection, stream, {}, INFO_MS).then(
      () => false,
      (error: unknown) => isRefusal(error, "streamNotFound"),
    );

  return { readLog, readFirst, readTail, readBatch, readLast };
}

function tooManyReads(): RepriseError {
  const message = `The log was not read: other reads have taken the broker's time for ${TURN_MS} ms.`;
  return new RepriseError("broker_unavailable", message, { retryAfterMs: 1_000 });
}

const EMPTY: LogSnapshot = { events: [], streamSeq: STREAM_START };

function join({ events, streamSeq }: LogSnapshot, tail: readonly StoredEvent[]): LogSnapshot {
  return {
    events: [...events, ...tail.map(({ payload }) => payload)],
    streamSeq: tail.at(-1)?.streamSeq ?? streamSeq,
  };
}

/** Copies the payload: what the client hands out is a view of a socket chunk of up to 64 KB, which it would keep alive. */
function toStoredEvent(msg: Msg): StoredEvent {
  return {
    payload: Uint8Array.from(msg.data),
    streamSeq: streamSeqOf(msg),
    writer: msg.headers?.get(HEADER.writer) ?? "",
  };
}
