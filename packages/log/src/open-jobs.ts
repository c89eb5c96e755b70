import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  type GenerationRef,
  jobSubject,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  parseJobSubject,
} from "@reprise/protocol";
import { readDirectBatch, streamSeqOf } from "./direct-batch.ts";
import { HEADER } from "./header.ts";
import { askStream, type StoredMessage } from "./stream-api.ts";

/*
 * The queue as whoever tidies up sees it: a job lies in it for as long as its generation has not ended, whether it waits, runs
 * or has lost its worker, and whether its model has a worker at all. Jobs are met by walking along the stream, each once: a list
 * of all open ones, asked for again and again, would be megabytes at the time when the platform can least afford it.
 */

/** Which job: one generation in one model's queue. */
export interface OpenJob {
  readonly ref: GenerationRef;
  readonly model: string;
  readonly streamSeq: number;
}

/** A job as it lies in the queue. */
export interface QueuedJob extends OpenJob {
  /** The generation's seq-0 event. */
  readonly payload: Uint8Array;
  /** When the broker stored it, by the broker's clock. Milliseconds since 1970. */
  readonly queuedAtMs: number;
}

export interface QueueEnd {
  /** The broker's clock: what its time stamps are to be compared with. Milliseconds since 1970. */
  readonly brokerTimeMs: number;
  /** Where the newest job was stored. */
  readonly streamSeq: number;
}

export interface QueuePart {
  /** The next jobs, oldest first. */
  readonly jobs: QueuedJob[];
  /** Where to walk on from. */
  readonly streamSeq: number;
  /** Whether there were more when the answer was made. */
  readonly more: boolean;
}

const BATCH_JOBS = 128;
const BATCH_BYTES = 512 * 1_024;

/** @throws RepriseError `broker_unavailable` */
export async function readQueueEnd(connection: NatsConnection): Promise<QueueEnd> {
  const { ts, state } = await askStream<{ ts: string; state: { last_seq: number } }>(
    connection,
    JOBS_STREAM,
    "INFO",
    {},
  );
  return { brokerTimeMs: Date.parse(ts), streamSeq: state.last_seq };
}

/**
 * The jobs behind a place in the queue that are still there, one small batch of them. A replica answers, so the newest may be
 * missing; the next call finds them. What lies in the queue under a subject that is no job's is passed over.
 * @throws RepriseError `broker_unavailable`
 */
export async function readJobsAfter(connection: NatsConnection, afterStreamSeq: number): Promise<QueuePart> {
  const { messages, more } = await readDirectBatch(connection, JOBS_STREAM, {
    afterStreamSeq,
    subject: JOBS_SUBJECTS,
    maxMessages: BATCH_JOBS,
    maxBytes: BATCH_BYTES,
  });
  const last = messages.at(-1);
  return { jobs: messages.flatMap(toQueuedJob), streamSeq: last ? streamSeqOf(last) : afterStreamSeq, more };
}

/**
 * One job; undefined when it is not in the queue any more.
 * @throws RepriseError `broker_unavailable`
 */
export async function readJob(
  connection: NatsConnection,
  { ref, model }: Pick<OpenJob, "ref" | "model">,
): Promise<QueuedJob | undefined> {
  const request = { last_by_subj: jobSubject(model, ref) };
  const { message } = await askStream<{ message?: StoredMessage }>(
    connection,
    JOBS_STREAM,
    "MSG.GET",
    request,
  );
  if (!message) return undefined;
  const { seq, time, data = "" } = message;
  return { ref, model, payload: Buffer.from(data, "base64"), queuedAtMs: Date.parse(time), streamSeq: seq };
}

/**
 * Takes exactly this job out of the queue, whoever holds it: one that was queued anew for the same generation stays. For a
 * generation that has ended; its job's holder notices nothing, and its acknowledgement is void.
 * @throws RepriseError `broker_unavailable`
 */
export async function deleteJob(
  connection: NatsConnection,
  { streamSeq }: Pick<OpenJob, "streamSeq">,
): Promise<void> {
  await askStream(connection, JOBS_STREAM, "MSG.DELETE", { seq: streamSeq, no_erase: true });
}

function toQueuedJob(message: Msg): QueuedJob[] {
  const { headers, data } = message;
  try {
    const { model, tenant, generation } = parseJobSubject(headers?.get(HEADER.subject) ?? "");
    const queuedAtMs = Date.parse(headers?.get(HEADER.timeStamp) ?? "");
    const [payload, streamSeq] = [Uint8Array.from(data), streamSeqOf(message)];
    return [{ ref: { tenant, generation }, model, payload, queuedAtMs, streamSeq }];
  } catch {
    return [];
  }
}
