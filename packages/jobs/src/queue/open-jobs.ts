import type { NatsConnection } from "@nats-io/transport-node";
import {
  type GenerationRef,
  jobSubject,
  type Priority,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  parseJobSubject,
  type StreamSeq,
  STREAM_START,
  asStreamSeq,
  type UnixMs,
  toUnixMs,
  asUnixMs,
} from "@reprise/protocol";
import {
  isStoredPublished,
  deleteMessage,
  getLastMessage,
  getStreamInfo,
  readAllMessages,
  readStreamBatch,
  type StreamMessage,
} from "@reprise/broker";

/*
 * The queue as a reaper sees it: a job lies in it for as long as its generation has not ended, whether it waits, runs
 * or has lost its worker, and whether its model has a worker at all. Jobs are met by walking along the stream, each once: a list
 * of all open ones, asked for again and again, would be megabytes at the time when the platform can least afford it.
 */

/** Which job: one generation in one model's queue. */
export interface OpenJob {
  readonly ref: GenerationRef;
  readonly model: string;
  readonly priority: Priority;
  readonly streamSeq: StreamSeq;
}

/** A job as it lies in the queue. */
export interface QueuedJob extends OpenJob {
  /** The generation's seq-0 event. */
  readonly payload: Uint8Array;
  /** When the broker stored it, by the broker's clock. */
  readonly queuedAtMs: UnixMs;
}

export interface QueueEnd {
  /** The broker's clock: what its time stamps are to be compared with. */
  readonly brokerTimeMs: UnixMs;
  /** Where the newest job was stored. */
  readonly streamSeq: StreamSeq;
}

export interface QueuePart {
  /** The next jobs, oldest first. */
  readonly jobs: QueuedJob[];
  /** Where to walk on from. */
  readonly streamSeq: StreamSeq;
  /** True if there were more when the answer was made. */
  readonly more: boolean;
}

const BATCH = { subject: JOBS_SUBJECTS, maxMessages: 128, maxBytes: 512 * 1_024 };

/** @throws RepriseError `broker_unavailable` */
export async function readQueueEnd(connection: NatsConnection): Promise<QueueEnd> {
  const { ts, state } = await getStreamInfo(connection, JOBS_STREAM);
  return { brokerTimeMs: toUnixMs(ts), streamSeq: asStreamSeq(state.last_seq) };
}

/**
 * One small batch of the jobs after a place in the queue that still exist. A replica answers, so the newest may be missing; the next call finds
 * them. Messages in the queue under other subjects than a job's are skipped.
 * @throws RepriseError `broker_unavailable`
 */
export async function readJobsAfter(
  connection: NatsConnection,
  afterStreamSeq: StreamSeq,
): Promise<QueuePart> {
  const batch = await readStreamBatch(connection, JOBS_STREAM, { ...BATCH, afterStreamSeq });
  const jobs = batch.messages.map(toQueuedJob).filter((job) => job !== undefined);
  return { jobs, streamSeq: batch.streamSeq, more: batch.more };
}

/**
 * Every job in the queue, oldest first: where the replica that answers knows of no more, the leader decides. Costs a request
 * for each job that the replica lacks.
 * @throws RepriseError `broker_unavailable`
 */
export async function* readAllJobs(connection: NatsConnection): AsyncGenerator<QueuedJob> {
  for await (const message of readAllMessages(connection, JOBS_STREAM, {
    ...BATCH,
    afterStreamSeq: STREAM_START,
  })) {
    const job = toQueuedJob(message);
    if (job) yield job;
  }
}

/**
 * One job; undefined when it is not in the queue any more.
 * @throws RepriseError `broker_unavailable`
 */
export async function readJob(
  connection: NatsConnection,
  { ref, model, priority }: Omit<OpenJob, "streamSeq">,
): Promise<QueuedJob | undefined> {
  const message = await getLastMessage(connection, JOBS_STREAM, jobSubject(model, ref, priority));
  if (!message || !isStoredPublished(message)) return undefined;
  const { payload, streamSeq, time } = message;
  return { ref, model, priority, payload, streamSeq, queuedAtMs: toUnixMs(time) };
}

/**
 * Takes exactly this job out of the queue, held or not: a job that was queued again for the same generation stays. For a generation that has ended;
 * its job's holder notices nothing, and its acknowledgement is void.
 * @throws RepriseError `broker_unavailable`
 */
export async function deleteJob(
  connection: NatsConnection,
  { streamSeq }: Pick<OpenJob, "streamSeq">,
): Promise<void> {
  await deleteMessage(connection, JOBS_STREAM, streamSeq);
}

/** Undefined for what lies under a subject that is no job's. Copies the payload, which is a part of what the connection has read. */
function toQueuedJob({ subject, payload, storedAtUs, streamSeq }: StreamMessage): QueuedJob | undefined {
  try {
    const { model, tenant, generation, priority } = parseJobSubject(subject);
    const queuedAtMs = asUnixMs(Math.floor(storedAtUs / 1_000));
    const ref = { tenant, generation };
    return { ref, model, priority, payload: Uint8Array.from(payload), streamSeq, queuedAtMs };
  } catch {
    return undefined;
  }
}
