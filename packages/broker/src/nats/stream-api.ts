import { type ApiError, JetStreamApiError, type StreamInfo } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { asStreamSeq, RepriseError, type StreamSeq } from "@reprise/protocol";
import { type StreamCall, streamCall } from "../access/api-subject.ts";
import { isNoMessage } from "./jetstream-errors.ts";
import { inboxOf } from "./reply-inbox.ts";

/*
 * Requests to a stream's leader: its messages, its state, purges and deletions. What any replica may answer is in `direct-get.ts`, publishes
 * are in `publisher.ts`. Streams and consumers are created and updated with the client's own JetStreamManager.
 *
 * All of these functions throw RepriseError `broker_unavailable` when the leader does not answer in time, with the `NoReply` as its cause, or
 * when it refuses, with a JetStreamApiError as its cause: see `isRefusal`. That a message is not there is no refusal.
 */

/**
 * Names the field of a stream's metadata that says when it was first made. The broker gives a restored stream a new time, but it is the old
 * stream, which has lost its end: consumers continue in it after the last message that both they and it have.
 */
export const MADE_AT = "reprise.made-at";

/** Returns when a stream was made, by this broker or by the one that it was backed up from. RFC 3339. */
export function madeAt({ created, config }: Pick<StreamInfo, "created" | "config">): string {
  return config.metadata?.[MADE_AT] ?? created;
}

type Answer<T> = T & { readonly error?: ApiError };

/** A message as its stream's leader has it. */
export interface StoredMessage {
  readonly streamSeq: StreamSeq;
  readonly subject: string;
  /** When the broker stored it, by the broker's clock. RFC 3339. */
  readonly time: string;
  /** In memory of its own. */
  readonly payload: Uint8Array;
  /** The block of its headers; "" when there are none. */
  readonly headers: string;
}

/** Which message: the one at a place, the last of a subject, or the first of a subject from a place on. Subjects may have wildcards. */
type MessageSelector =
  | { readonly seq: number }
  | { readonly last_by_subj: string }
  | { readonly seq: number; readonly next_by_subj: string };

/** `ts`, the leader's time, is told by every server that is supported. */
type AnsweredInfo = StreamInfo & { readonly ts: string };

const TIMEOUT_MS = 5_000;

/** The message at a place; undefined when there is none. */
export function getMessage(
  connection: NatsConnection,
  stream: string,
  streamSeq: StreamSeq,
): Promise<StoredMessage | undefined> {
  return select(connection, stream, { seq: streamSeq });
}

/** The last message of a subject; undefined when there is none. */
export function getLastMessage(
  connection: NatsConnection,
  stream: string,
  subject: string,
  timeoutMs?: number,
): Promise<StoredMessage | undefined> {
  return select(connection, stream, { last_by_subj: subject }, timeoutMs);
}

/**
 * The next message after a place; undefined if there is none. Costs a request per message: for messages that must not be missed, when a replica shows
 * no more.
 */
export function getNextMessage(
  connection: NatsConnection,
  stream: string,
  { afterStreamSeq, subject }: { readonly afterStreamSeq: StreamSeq; readonly subject: string },
  timeoutMs?: number,
): Promise<StoredMessage | undefined> {
  return select(connection, stream, { seq: afterStreamSeq + 1, next_by_subj: subject }, timeoutMs);
}

/** The value of a header; undefined when the message does not have it. Names are ours, so case is exact. */
export function headerOf({ headers }: StoredMessage, name: string): string | undefined {
  const line = headers.split("\r\n").find((text) => text.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}

/** @param request what to tell beside the usual, as `subjects_filter` */
export async function getStreamInfo(
  connection: NatsConnection,
  stream: string,
  request: { readonly subjects_filter?: string; readonly offset?: number } = {},
  timeoutMs?: number,
): Promise<AnsweredInfo> {
  return accepted(stream, await ask(connection, stream, "INFO", request, timeoutMs));
}

/** @param beforeStreamSeq where to stop; default: all of the subject */
export async function purgeSubject(
  connection: NatsConnection,
  stream: string,
  subject: string,
  beforeStreamSeq?: StreamSeq,
): Promise<void> {
  const request = { filter: subject, ...(beforeStreamSeq !== undefined && { seq: beforeStreamSeq }) };
  accepted(stream, await ask(connection, stream, "PURGE", request));
}

/** Deletes the message at a place, if there is one. Its bytes stay in the broker's file until that is compacted. */
export async function deleteMessage(
  connection: NatsConnection,
  stream: string,
  streamSeq: StreamSeq,
): Promise<void> {
  const answer = await ask(connection, stream, "MSG.DELETE", { seq: streamSeq, no_erase: true });
  if (answer.error?.err_code === undefined || !isNoMessage(answer.error.err_code)) accepted(stream, answer);
}

async function select(
  connection: NatsConnection,
  stream: string,
  selector: MessageSelector,
  timeoutMs?: number,
): Promise<StoredMessage | undefined> {
  const answer = await ask<MessageAnswer>(connection, stream, "MSG.GET", selector, timeoutMs);
  if (answer.error && isNoMessage(answer.error.err_code)) return undefined;
  const { seq, subject, time, data = "", hdrs = "" } = accepted(stream, answer).message;
  const headers = Buffer.from(hdrs, "base64").toString("latin1");
  return { streamSeq: asStreamSeq(seq), subject, time, payload: decodeBase64(data), headers };
}

interface MessageAnswer {
  readonly message: { seq: number; subject: string; time: string; data?: string; hdrs?: string };
}

async function ask<T extends object>(
  connection: NatsConnection,
  stream: string,
  call: StreamCall,
  request: object,
  timeoutMs = TIMEOUT_MS,
): Promise<Answer<T>> {
  const reply = await inboxOf(connection).ask(streamCall(call, stream), JSON.stringify(request), timeoutMs);
  if (typeof reply === "string") throw streamUnavailable(stream, reply, reply);
  return reply.json<Answer<T>>();
}

function accepted<T extends object>(stream: string, answer: Answer<T>): T {
  const { error } = answer;
  if (!error) return answer;
  throw streamUnavailable(stream, `${error.err_code} ${error.description}`, new JetStreamApiError(error));
}

/** True if a call failed because the broker did not answer; it may succeed the next time. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof RepriseError && error.code === "broker_unavailable";
}

/** For `catch`: the value to continue with if the broker did not answer. Any other error is thrown again. */
export function ifUnavailable<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isUnavailable(error)) return value;
    throw error;
  };
}

export function streamUnavailable(stream: string, reason: string, cause?: unknown): RepriseError {
  return new RepriseError("broker_unavailable", `The stream ${stream} does not answer: ${reason}.`, {
    cause,
    retryAfterMs: 1_000,
  });
}

/**
 * In memory of its own: `Buffer.from` takes small buffers from a pool of 64 KiB, and one that is kept, as the first event of a generation
 * that runs, would keep all of it alive.
 */
function decodeBase64(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, "base64"));
  return bytes.subarray(0, bytes.write(text, "base64"));
}
