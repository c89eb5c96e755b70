import type { NatsConnection, Msg, Subscription } from "@nats-io/transport-node";
import {
  type GenerationRef,
  type NodeId,
  parseReaderSubject,
  readerSubject,
  readerSubjects,
  READERS_STREAM,
  type SeqRange,
  type Seq,
  type UnixMs,
  toUnixMs,
} from "@reprise/protocol";
import {
  isStoredPublished,
  type Publish,
  getLastMessage,
  getStreamInfo,
  isPublished,
  notPublished,
  subscribeGuarded,
} from "@reprise/broker";

/*
 * The readers of a generation, over all nodes: each node that has some keeps one record, the last message of a subject of its
 * own. The broker's time stamp is the time of the announcement. Kept only for generations whose policy depends on readers.
 */

/** For how long a presence record with readers counts. A node repeats it three times as often. */
export const PRESENCE_LEASE_MS = 6_000;

/** A node's readers of one generation. */
export interface PresenceRecord {
  /** Number of readers at this node now. */
  readonly readers: number;
  /** The last event that the connection of the furthest one has taken; 0 for none. */
  readonly seq: Seq;
  /** The events in the log that no reader may be shown yet, because moderation holds them. Set if the generation waits for its readers. */
  readonly held?: SeqRange;
}

/** A node's record, and when the broker stored it, by the broker's clock. */
export interface NodePresence extends PresenceRecord {
  readonly node: NodeId;
  readonly atMs: UnixMs;
}

/** `held` is from the first event to the last. */
interface StoredRecord {
  readonly readers: number;
  readonly seq: Seq;
  readonly held?: readonly [Seq, Seq];
}

/** @returns whether it is stored; without an answer it may be */
export async function publishPresence(
  publish: Publish,
  { ref, node }: { ref: GenerationRef; node: NodeId },
  { readers, seq, held }: PresenceRecord,
): Promise<boolean> {
  const record: StoredRecord = { readers, seq, ...(held && { held: [held.fromSeq, held.toSeq] }) };
  const payload = new TextEncoder().encode(JSON.stringify(record));
  const { kind } = await publish(readerSubject(ref, node), payload, {});
  return kind === "stored";
}

/** Undefined for what `publishPresence` does not write. */
export function decodePresenceRecord(payload: Uint8Array): PresenceRecord | undefined {
  try {
    const { readers, seq, held } = JSON.parse(new TextDecoder().decode(payload)) as Partial<StoredRecord>;
    if (!isCount(readers) || !isSeq(seq)) return undefined;
    if (held === undefined) return { readers, seq };
    const [fromSeq, toSeq] = held;
    return isSeq(fromSeq) && isSeq(toSeq) ? { readers, seq, held: { fromSeq, toSeq } } : undefined;
  } catch {
    return undefined;
  }
}

function isSeq(value: unknown): value is Seq {
  return isCount(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * All nodes' presence records of one generation, as the stream's leader has them, and the broker's time at that moment: everything
 * that was stored before the call is in the answer.
 * @throws RepriseError `broker_unavailable`
 */
export async function readPresence(
  connection: NatsConnection,
  ref: GenerationRef,
): Promise<{ brokerTimeMs: UnixMs; records: NodePresence[] }> {
  const { ts, state } = await getStreamInfo(connection, READERS_STREAM, {
    subjects_filter: readerSubjects(ref),
  });
  const records = Object.keys(state.subjects ?? {}).map((subject) => readRecord(connection, subject));
  return { brokerTimeMs: toUnixMs(ts), records: (await Promise.all(records)).flat() };
}

/**
 * Makes sure that nodes can store presence records at this moment.
 * @throws RepriseError `broker_unavailable`
 */
export async function assertPresenceStored(connection: NatsConnection): Promise<void> {
  await getStreamInfo(connection, READERS_STREAM);
}

/** Nothing when the record has expired meanwhile, or is none. */
async function readRecord(connection: NatsConnection, subject: string): Promise<NodePresence[]> {
  const message = await getLastMessage(connection, READERS_STREAM, subject);
  const record = message && isStoredPublished(message) ? decodePresenceRecord(message.payload) : undefined;
  if (!message || !record) return [];
  return [{ ...record, node: parseReaderSubject(subject).node, atMs: toUnixMs(message.time) }];
}

interface PresenceFeedOptions {
  /** Called for each presence record of a node, inside the connection's read loop: it has to be short. */
  onReaders: (node: NodeId, record: PresenceRecord) => void;
  /** Called with what `onReaders` throws, and for malformed records. */
  onError: (error: unknown) => void;
}

/** Follows the presence records of one generation, live. Nodes repeat them, so one that is missed comes again. */
export function subscribePresence(
  connection: NatsConnection,
  ref: GenerationRef,
  { onReaders, onError }: PresenceFeedOptions,
): Subscription {
  const onMessage = ({ subject, data, headers }: Msg) => {
    if (!isPublished(headers)) throw notPublished(subject);
    const record = decodePresenceRecord(data);
    if (record) onReaders(parseReaderSubject(subject).node, record);
  };
  return subscribeGuarded(connection, readerSubjects(ref), { onMessage, onError });
}
