import { asStreamSeq, RepriseError, type StreamSeq } from "@reprise/protocol";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { isAnsweredPublishedIn, isStoredPublished } from "./is-published.ts";
import { type BatchRequest, getBatchDirect, placeIn } from "./direct-get.ts";
import { headerTextOf } from "./header.ts";
import {
  getLastMessage,
  getMessage,
  getNextMessage,
  getStreamInfo,
  madeAt,
  type StoredMessage,
} from "./stream-api.ts";

/** A message at one place of a stream. */
export interface StreamMessage {
  readonly streamSeq: StreamSeq;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
  readonly subject: string;
  /** A part of what the connection has read: copy it to keep it for long. */
  readonly payload: Uint8Array;
  /** False for an answer of the broker that a process has had stored there: nothing in it counts. Only those read `raw` may be. */
  readonly isPublished: boolean;
}

/** A stream as its leader knows it. */
export interface StreamInfo {
  /** When it was made: what has its name and another time is another stream. One that was restored from a backup is the same. RFC 3339. */
  readonly created: string;
  /** The oldest message that is kept; one more than `lastStreamSeq` when there is none. */
  readonly firstStreamSeq: StreamSeq;
  readonly lastStreamSeq: StreamSeq;
  /** Number of messages. */
  readonly messages: number;
  /** Time of the leader's answer, by its clock, microseconds since 1970: messages after `lastStreamSeq` were stored later. */
  readonly atUs: number;
  /** For how long it keeps a message, microseconds; Infinity: for ever. */
  readonly maxAgeUs: number;
  /** On how many servers it is: with more than one, another server with another clock may lead it later. */
  readonly replicas: number;
}

const ALL_SUBJECTS = ">";
const NS_PER_US = 1_000;

/** Which messages are read. */
export interface ReadRequest extends BatchRequest {
  /** Also those that no process has published: for readers that account for every place. Default: those are passed over. */
  readonly raw?: boolean;
}

/**
 * The next messages after a place, of one subject or of all, oldest first; empty if none follow, or if the replica that was asked has not heard of
 * them yet.
 * @throws RepriseError `broker_unavailable`
 */
export async function readStreamMessages(
  connection: NatsConnection,
  stream: string,
  request: Omit<ReadRequest, "subject"> & { subject?: string },
): Promise<StreamMessage[]> {
  return (await readStreamBatch(connection, stream, { subject: ALL_SUBJECTS, ...request })).messages;
}

/**
 * The same, whether there were more when the answer was made, and the place to read on from.
 * @throws RepriseError `broker_unavailable`
 */
export async function readStreamBatch(
  connection: NatsConnection,
  stream: string,
  { raw = false, ...request }: ReadRequest,
): Promise<{ messages: StreamMessage[]; more: boolean; streamSeq: StreamSeq }> {
  const batch = await getBatchDirect(connection, stream, request);
  const messages = batch.messages.map((msg) => toStreamMessage(stream, msg));
  return {
    messages: raw ? messages : messages.filter(({ isPublished }) => isPublished),
    more: batch.more && messages.length > 0,
    streamSeq: messages.at(-1)?.streamSeq ?? request.afterStreamSeq,
  };
}

function toStreamMessage(stream: string, msg: Msg): StreamMessage {
  const headers = headerTextOf(msg);
  const { streamSeq, subject, storedAt } = placeIn(headers);
  return {
    streamSeq,
    storedAtUs: toMicroseconds(storedAt),
    subject,
    payload: msg.data,
    isPublished: isAnsweredPublishedIn(headers, { stream, subject }),
  };
}

/**
 * Every message after a place, oldest first: batches from a replica, and when that shows no more, the next message from the leader. Costs a request
 * for each message that the replica lacks.
 * @throws RepriseError `broker_unavailable`
 */
export async function* readAllMessages(
  connection: NatsConnection,
  stream: string,
  request: ReadRequest,
): AsyncGenerator<StreamMessage> {
  let { afterStreamSeq } = request;
  for (let isMore = true; isMore;) {
    const batch = await readStreamBatch(connection, stream, { ...request, afterStreamSeq });
    yield* batch.messages;
    afterStreamSeq = batch.streamSeq;
    isMore = batch.more;
  }
  const after = { afterStreamSeq, subject: request.subject };
  for await (const message of readRawFromLeader(connection, stream, after))
    if (message.isPublished || request.raw === true) yield message;
}

/**
 * Every message after a place as the leader has them, oldest first, including those that no process has published. Costs a request for each.
 * @throws RepriseError `broker_unavailable`
 */
export async function* readRawFromLeader(
  connection: NatsConnection,
  stream: string,
  { afterStreamSeq, subject }: Pick<BatchRequest, "afterStreamSeq" | "subject">,
): AsyncGenerator<StreamMessage> {
  for (let after = afterStreamSeq; ;) {
    const next = await getNextMessage(connection, stream, { afterStreamSeq: after, subject });
    if (!next) return;
    after = next.streamSeq;
    yield fromLeader(next);
  }
}

function fromLeader(stored: StoredMessage): StreamMessage {
  const { streamSeq, time, subject, payload } = stored;
  const isPublished = isStoredPublished(stored);
  return { streamSeq, storedAtUs: toMicroseconds(time), subject, payload, isPublished };
}

/** @throws RepriseError `broker_unavailable` */
export async function readStreamInfo(connection: NatsConnection, stream: string): Promise<StreamInfo> {
  const { created, ts, config, state } = await getStreamInfo(connection, stream);
  return {
    created: madeAt({ created, config }),
    firstStreamSeq: asStreamSeq(state.first_seq),
    lastStreamSeq: asStreamSeq(state.last_seq),
    messages: state.messages,
    atUs: toMicroseconds(ts),
    // The broker's 0 is no limit.
    maxAgeUs: config.max_age / NS_PER_US || Number.POSITIVE_INFINITY,
    replicas: config.num_replicas,
  };
}

/**
 * When the message at a place was stored, as the leader knows it; undefined when nothing is there any more.
 * @throws RepriseError `broker_unavailable`
 */
export async function readStoredAtUs(
  connection: NatsConnection,
  stream: string,
  streamSeq: StreamSeq,
): Promise<number | undefined> {
  const message = await getMessage(connection, stream, streamSeq);
  return message && toMicroseconds(message.time);
}

/**
 * Reads a subject's last message, as the leader knows it; undefined if there is none.
 * @throws RepriseError `broker_unavailable`, `protocol_violation` when no process has published it
 */
export async function readLastMessage(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<Uint8Array | undefined> {
  const message = await readLastRaw(connection, stream, subject);
  if (message && !message.isPublished) throw notPublished(subject);
  return message?.payload;
}

/**
 * A subject's last message, as the leader knows it, also one that no process has published: for writers that expect its place to be the last.
 * @throws RepriseError `broker_unavailable`
 */
export async function readLastRaw(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<StreamMessage | undefined> {
  const message = await getLastMessage(connection, stream, subject);
  return message && fromLeader(message);
}

/** True if a subject has a message, as the leader knows it, including one that no process has published. */
export async function hasMessage(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<boolean> {
  return (await getLastMessage(connection, stream, subject)) !== undefined;
}

export function notPublished(subject: string): RepriseError {
  const message = `The message at ${subject} is an answer of the broker that a process has had stored there: it does not count.`;
  return new RepriseError("protocol_violation", message);
}

const SECOND_CHARS = "2026-11-21T11:44:05".length;
const MICRO_DIGITS = 6;
let lastSecond = { text: "", us: 0 };

/** Parses a time as the broker writes it: RFC 3339, UTC, with up to nine digits of a second. */
export function toMicroseconds(time: string): number {
  const text = time.slice(0, SECOND_CHARS);
  // Nearly all messages share their second with the one before, and parsing dates is slow.
  if (text !== lastSecond.text) lastSecond = { text, us: Date.parse(`${text}Z`) * 1_000 };
  const digits = time[SECOND_CHARS] === "." ? time.slice(SECOND_CHARS + 1, -1) : "";
  return lastSecond.us + Number(digits.slice(0, MICRO_DIGITS).padEnd(MICRO_DIGITS, "0"));
}
