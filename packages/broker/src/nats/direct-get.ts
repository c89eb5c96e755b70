import { type StreamSeq, asStreamSeq } from "@reprise/protocol";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { directGet, directGetLast } from "../access/api-subject.ts";
import { codeIn, HEADER, headerTextOf, lastIn } from "./header.ts";
import { inboxOf, type NoReply, untilAnswered } from "./reply-inbox.ts";
import { streamUnavailable } from "./stream-api.ts";

/*
 * Direct gets, which any replica of a stream answers: what it says is true, but the newest messages may be missing. Both functions throw
 * RepriseError `broker_unavailable` when there is no whole answer in time, with the `NoReply` as its cause, or when the broker refuses. A stream
 * that has no leader has no responders, and neither has one that does not exist.
 */

export interface BatchRequest {
  readonly afterStreamSeq: StreamSeq;
  /** Subject to select; may have wildcards. */
  readonly subject: string;
  readonly maxMessages: number;
  readonly maxBytes: number;
}

export interface DirectBatch {
  /** Oldest first. */
  readonly messages: readonly Msg[];
  /** True if there were more when the answer was made. */
  readonly more: boolean;
}

const TRIES_MS = [5_000] as const;
const END_OF_BATCH = 204;
const NOTHING_THERE = 404;

/**
 * The last message of a subject; undefined when there is none.
 * @param triesMs how long to wait for an answer, for each try
 */
export async function getLastDirect(
  connection: NatsConnection,
  stream: string,
  subject: string,
  triesMs: readonly number[] = TRIES_MS,
): Promise<Msg | undefined> {
  const inbox = inboxOf(connection);
  const reply = await untilAnswered(triesMs, (timeoutMs) =>
    inbox.ask(directGetLast(stream, subject), "", timeoutMs),
  );
  if (typeof reply === "string") throw streamUnavailable(stream, reply, reply);
  const status = statusOf(reply);
  if (status === NOTHING_THERE) return undefined;
  if (status !== 0) throw refused(stream, reply);
  return reply;
}

/**
 * One batch of the messages after a place in a stream that still exist.
 * @param triesMs how long to wait for the whole answer, for each try
 */
export async function getBatchDirect(
  connection: NatsConnection,
  stream: string,
  { afterStreamSeq, subject, maxMessages, maxBytes }: BatchRequest,
  triesMs: readonly number[] = TRIES_MS,
): Promise<DirectBatch> {
  const inbox = inboxOf(connection);
  const request = { seq: afterStreamSeq + 1, next_by_subj: subject, batch: maxMessages, max_bytes: maxBytes };
  const payload = JSON.stringify(request);
  const answer = await untilAnswered(triesMs, (timeoutMs) => {
    const messages: Msg[] = [];
    const { promise, resolve } = Promise.withResolvers<BatchAnswer | NoReply>();
    inbox.request(directGet(stream), payload, {
      timeoutMs,
      handler(reply) {
        const isMessage = typeof reply !== "string" && statusOf(reply) === 0;
        if (isMessage) messages.push(reply);
        else resolve(typeof reply === "string" ? reply : { messages, end: reply });
        return isMessage;
      },
    });
    return promise;
  });
  if (typeof answer === "string") throw streamUnavailable(stream, answer, answer);
  const { messages, end } = answer;
  const status = statusOf(end);
  if (status !== END_OF_BATCH && status !== NOTHING_THERE) throw refused(stream, end);
  return { messages, more: status === END_OF_BATCH && Number(answered(end, HEADER.pending)) > 0 };
}

interface BatchAnswer {
  readonly messages: readonly Msg[];
  /** The message after the batch, which says why it ends. */
  readonly end: Msg;
}

/** Where a message that was read directly, or republished, lies in its stream. */
export function streamSeqOf(msg: Msg): StreamSeq {
  return asStreamSeq(Number(answered(msg, HEADER.sequence)));
}

/** Under which subject it is stored there. */
export function subjectOf(msg: Msg): string {
  return answered(msg, HEADER.subject) ?? "";
}

/** When the broker stored it: RFC 3339. */
export function storedAtOf(msg: Msg): string {
  return answered(msg, HEADER.timeStamp) ?? "";
}

/** Place, subject and time of a message, parsed at the cost of one of them. */
export interface StoredPlace {
  readonly streamSeq: StreamSeq;
  readonly subject: string;
  readonly storedAt: string;
}

export function placeIn(headerText: string): StoredPlace {
  return {
    streamSeq: asStreamSeq(Number(lastIn(headerText, HEADER.sequence))),
    subject: lastIn(headerText, HEADER.subject) ?? "",
    storedAt: lastIn(headerText, HEADER.timeStamp) ?? "",
  };
}

function answered(msg: Msg, name: string): string | undefined {
  return lastIn(headerTextOf(msg), name);
}

/** 0 for a message. */
function statusOf(msg: Msg): number {
  // The broker's own answers are empty.
  return msg.data.length > 0 ? 0 : codeIn(headerTextOf(msg));
}

function refused(stream: string, { headers }: Msg): ReturnType<typeof streamUnavailable> {
  return streamUnavailable(stream, `${headers?.code} ${headers?.description}`);
}
