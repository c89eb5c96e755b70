import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  type GenerationRef,
  jobSubject,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  parseJobSubject,
} from "@reprise/protocol";
import { HEADER } from "./header.ts";
import { askStream, type StoredMessage, streamUnavailable } from "./stream-api.ts";

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
const TIMEOUT_MS = 5_000;
const END_OF_BATCH = 204;
const NOTHING_THERE = 404;

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
  const request = JSON.stringify({
    seq: afterStreamSeq + 1,
    next_by_subj: JOBS_SUBJECTS,
    batch: BATCH_JOBS,
    max_bytes: BATCH_BYTES,
  });
  const jobs: QueuedJob[] = [];
  let streamSeq = afterStreamSeq;
  try {
    const replies = await connection.requestMany(`$JS.API.DIRECT.GET.${JOBS_STREAM}`, request, {
      strategy: "sentinel",
      maxWait: TIMEOUT_MS,
    });
    for await (const reply of replies) {
      const status = reply.headers?.code ?? 0;
      if (status === END_OF_BATCH)
        return { jobs, streamSeq, more: Number(reply.headers?.get(HEADER.pending)) > 0 };
      if (status === NOTHING_THERE) return { jobs, streamSeq, more: false };
      if (status !== 0) throw streamUnavailable(JOBS_STREAM, `${status} ${reply.headers?.description}`);
      streamSeq = Number(reply.headers?.get(HEADER.sequence));
      jobs.push(...toQueuedJob(reply, streamSeq));
    }
  } catch (cause) {
    throw streamUnavailable(JOBS_STREAM, "no whole answer", cause);
  }
  throw streamUnavailable(JOBS_STREAM, "no whole answer in time");
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

function toQueuedJob({ headers, data }: Msg, streamSeq: number): QueuedJob[] {
  try {
    const { model, tenant, generation } = parseJobSubject(headers?.get(HEADER.subject) ?? "");
    const queuedAtMs = Date.parse(headers?.get(HEADER.timeStamp) ?? "");
    return [{ ref: { tenant, generation }, model, payload: Uint8Array.from(data), queuedAtMs, streamSeq }];
  } catch {
    return [];
  }
}
