import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  type GenerationRef,
  jobSubject,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  parseJobSubject,
} from "@reprise/protocol";
import { decodeBase64 } from "../nats/decode-base64.ts";
import { readDirectBatch, streamSeqOf } from "../nats/direct-batch.ts";
import { HEADER } from "../nats/header.ts";
import { readNextMessage, requestStreamApi, type StoredMessage } from "../nats/stream-api.ts";

/*
 * The queue as a reaper sees it: a job lies in it for as long as its generation has not ended, whether it waits, runs
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
  const { ts, state } = await requestStreamApi<{ ts: string; state: { last_seq: number } }>(
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
  const jobs = messages
    .map((message) => toQueuedJob(message.headers?.get(HEADER.subject) ?? "", fromReplica(message)))
    .filter((job) => job !== undefined);
  return { jobs, streamSeq: last ? streamSeqOf(last) : afterStreamSeq, more };
}

/**
 * Every job in the queue, oldest first: where the replica that answers knows of no more, the leader decides. Costs a request
 * for each job that the replica lacks.
 * @throws RepriseError `broker_unavailable`
 */
export async function* readAllJobs(connection: NatsConnection): AsyncGenerator<QueuedJob> {
  let after = 0;
  for (let more = true; more;) {
    const part = await readJobsAfter(connection, after);
    yield* part.jobs;
    ({ streamSeq: after, more } = part);
  }
  for (;;) {
    const place = { afterStreamSeq: after, subject: JOBS_SUBJECTS };
    const message = await readNextMessage(connection, JOBS_STREAM, place);
    if (!message) return;
    const job = toQueuedJob(message.subject, fromLeader(message));
    if (job) yield job;
    after = message.seq;
  }
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
  const { message } = await requestStreamApi<{ message?: StoredMessage }>(
    connection,
    JOBS_STREAM,
    "MSG.GET",
    request,
  );
  return message && { ref, model, ...fromLeader(message) };
}

/**
 * Takes exactly this job out of the queue, held or not: one that was queued anew for the same generation stays. For a
 * generation that has ended; its job's holder notices nothing, and its acknowledgement is void.
 * @throws RepriseError `broker_unavailable`
 */
export async function deleteJob(
  connection: NatsConnection,
  { streamSeq }: Pick<OpenJob, "streamSeq">,
): Promise<void> {
  await requestStreamApi(connection, JOBS_STREAM, "MSG.DELETE", { seq: streamSeq, no_erase: true });
}

/** A job's message without the fields of its subject. */
type JobMessage = Omit<QueuedJob, "ref" | "model">;

function fromLeader({ seq, time, data = "" }: StoredMessage): JobMessage {
  return { payload: decodeBase64(data), queuedAtMs: Date.parse(time), streamSeq: seq };
}

function fromReplica(message: Msg): JobMessage {
  const queuedAtMs = Date.parse(message.headers?.get(HEADER.timeStamp) ?? "");
  return { payload: Uint8Array.from(message.data), queuedAtMs, streamSeq: streamSeqOf(message) };
}

/** Undefined for what lies under a subject that is no job's. */
function toQueuedJob(subject: string, message: JobMessage): QueuedJob | undefined {
  try {
    const { model, tenant, generation } = parseJobSubject(subject);
    return { ref: { tenant, generation }, model, ...message };
  } catch {
    return undefined;
  }
}
