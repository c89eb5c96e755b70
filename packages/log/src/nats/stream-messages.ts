import { asStreamSeq, RepriseError, type StreamSeq } from "@reprise/protocol";
import type { NatsConnection } from "@nats-io/transport-node";
import { isAnsweredCopy, isStoredCopy } from "../access/is-copy.ts";
import { type BatchRequest, getBatchDirect, streamSeqOf } from "./direct-get.ts";
import { HEADER } from "./header.ts";
import { getLastMessage, getMessage, getNextMessage, getStreamInfo, headerOf } from "./stream-api.ts";

/** What lies at one place of a stream. */
export interface StreamMessage {
  readonly streamSeq: StreamSeq;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
  readonly subject: string;
  /** A part of what the connection has read: copy it to keep it for long. */
  readonly payload: Uint8Array;
  /** Whether a process that may not publish there had the broker copy another message to this place: nothing in it counts. */
  readonly isCopy?: boolean;
  /** Whether it removes a bucket's key. An empty message that does not is what the broker had to say about nothing: no client's removal. */
  readonly isRemoval?: boolean;
}

/** A stream as its leader knows it. */
export interface StreamInfo {
  /** When it was made: what has its name and another time is another stream. RFC 3339. */
  readonly created: string;
  /** The oldest message that is kept; one more than `lastStreamSeq` when there is none. */
  readonly firstStreamSeq: StreamSeq;
  readonly lastStreamSeq: StreamSeq;
  /** How many messages there are. */
  readonly messages: number;
  /** When its leader said so, by its clock, microseconds since 1970: what lies behind `lastStreamSeq` was stored later. */
  readonly atUs: number;
  /** For how long it keeps a message, microseconds; Infinity: for ever. */
  readonly maxAgeUs: number;
}

const ALL_SUBJECTS = ">";
const NS_PER_US = 1_000;

/**
 * The next messages behind a place, of one subject or of all, oldest first; none when there is nothing behind it, or nothing that the
 * replica that was asked has heard of yet.
 * @throws RepriseError `broker_unavailable`
 */
export async function readStreamMessages(
  connection: NatsConnection,
  stream: string,
  request: Omit<BatchRequest, "subject"> & { subject?: string },
): Promise<StreamMessage[]> {
  return (await readStreamBatch(connection, stream, { subject: ALL_SUBJECTS, ...request })).messages;
}

/**
 * The same, and whether there were more when the answer was made.
 * @throws RepriseError `broker_unavailable`
 */
export async function readStreamBatch(
  connection: NatsConnection,
  stream: string,
  request: BatchRequest,
): Promise<{ messages: StreamMessage[]; more: boolean }> {
  const { messages, more } = await getBatchDirect(connection, stream, request);
  return {
    messages: messages.map((msg) => ({
      streamSeq: streamSeqOf(msg),
      storedAtUs: toMicroseconds(msg.headers?.get(HEADER.timeStamp) ?? ""),
      subject: msg.headers?.get(HEADER.subject) ?? "",
      payload: msg.data,
      isCopy: isAnsweredCopy(msg.headers, { stream, subject: msg.headers?.get(HEADER.subject) ?? "" }),
      isRemoval: msg.headers?.has(HEADER.bucketOperation) === true,
    })),
    more,
  };
}

/**
 * Every message behind a place, oldest first: batches from a replica, and where that shows no more, the next message from the leader. Costs
 * a request for each message that the replica lacks.
 * @throws RepriseError `broker_unavailable`
 */
export async function* readAllMessages(
  connection: NatsConnection,
  stream: string,
  request: BatchRequest,
): AsyncGenerator<StreamMessage> {
  let { afterStreamSeq } = request;
  for (let isMore = true; isMore;) {
    const { messages, more } = await readStreamBatch(connection, stream, { ...request, afterStreamSeq });
    yield* messages;
    afterStreamSeq = messages.at(-1)?.streamSeq ?? afterStreamSeq;
    isMore = more && messages.length > 0;
  }
  for (;;) {
    const next = await getNextMessage(connection, stream, { afterStreamSeq, subject: request.subject });
    if (!next) return;
    const { streamSeq, time, subject, payload } = next;
    const isCopy = isStoredCopy(next);
    const isRemoval = headerOf(next, HEADER.bucketOperation) !== undefined;
    yield { streamSeq, storedAtUs: toMicroseconds(time), subject, payload, isCopy, isRemoval };
    afterStreamSeq = streamSeq;
  }
}

/** @throws RepriseError `broker_unavailable` */
export async function readStreamInfo(connection: NatsConnection, stream: string): Promise<StreamInfo> {
  const { created, ts, config, state } = await getStreamInfo(connection, stream);
  return {
    created,
    firstStreamSeq: asStreamSeq(state.first_seq),
    lastStreamSeq: asStreamSeq(state.last_seq),
    messages: state.messages,
    atUs: toMicroseconds(ts),
    // The broker's 0 is no limit.
    maxAgeUs: config.max_age / NS_PER_US || Number.POSITIVE_INFINITY,
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
 * What a subject's last message holds, as the leader knows it; undefined when there is none.
 * @throws RepriseError `broker_unavailable`, `protocol_violation` when a process that may not publish there had the broker copy it
 */
export async function readLastMessage(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<Uint8Array | undefined> {
  const message = await getLastMessage(connection, stream, subject);
  if (message && isStoredCopy(message))
    throw new RepriseError(
      "protocol_violation",
      `What lies at ${subject} is a copy of another message: it does not count.`,
    );
  return message?.payload;
}

const SECOND_CHARS = "2026-11-21T11:44:05".length;
const MICRO_DIGITS = 6;
let lastSecond = { text: "", us: 0 };

/** Of a time as the broker writes it: RFC 3339, UTC, with up to nine digits of a second. */
export function toMicroseconds(time: string): number {
  const text = time.slice(0, SECOND_CHARS);
  // Nearly all messages share their second with the one before, and parsing dates is slow.
  if (text !== lastSecond.text) lastSecond = { text, us: Date.parse(`${text}Z`) * 1_000 };
  const digits = time[SECOND_CHARS] === "." ? time.slice(SECOND_CHARS + 1, -1) : "";
  return lastSecond.us + Number(digits.slice(0, MICRO_DIGITS).padEnd(MICRO_DIGITS, "0"));
}
