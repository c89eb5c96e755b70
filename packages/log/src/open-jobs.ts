import type { Msg, NatsConnection } from "@nats-io/transport-node";
import {
  type GenerationRef,
  jobSubject,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  parseJobSubject,
  RepriseError,
} from "@reprise/protocol";

/*
 * The queue as whoever tidies up sees it: a job lies in it for as long as its generation has not ended, whether it waits, runs
 * or has lost its worker. All answers come from the stream's leader.
 */

/** Which job: one generation in one model's queue. */
export interface OpenJob {
  readonly ref: GenerationRef;
  readonly model: string;
}

export interface OpenJobs {
  /** The broker's clock when the listing began: what its time stamps are to be compared with. Milliseconds since 1970. */
  readonly brokerTimeMs: number;
  readonly jobs: OpenJob[];
}

/** A job as it lies in the queue. */
export interface QueuedJob extends OpenJob {
  /** The generation's seq-0 event. */
  readonly payload: Uint8Array;
  /** When the broker stored it, by the broker's clock. Milliseconds since 1970. */
  readonly queuedAtMs: number;
  readonly streamSeq: number;
}

interface Answer {
  error?: { code: number; err_code?: number; description?: string };
}

interface InfoAnswer extends Answer {
  ts?: string;
  /** Of all pages. */
  total?: number;
  state?: { subjects?: Record<string, number> };
}

interface GetAnswer extends Answer {
  message?: { seq: number; time: string; data?: string };
}

const TIMEOUT_MS = 5_000;
/** No message with this subject; no message with this sequence, which the broker says in two ways. */
const NOT_THERE: ReadonlySet<number | undefined> = new Set([10_037, 10_043, 10_057]);

/**
 * Every job in the queue, in pages of 100,000 by the broker's rule. Jobs that come or go meanwhile may be in it or not. Subjects
 * that are no job's are left out.
 * @throws RepriseError `broker_unavailable`
 */
export async function listOpenJobs(connection: NatsConnection): Promise<OpenJobs> {
  const jobs: OpenJob[] = [];
  let brokerTimeMs = Infinity;
  for (let offset = 0, more = true; more;) {
    const request = { subjects_filter: JOBS_SUBJECTS, offset };
    const { ts = "", total = 0, state } = await ask<InfoAnswer>(connection, "INFO", request);
    const subjects = Object.keys(state?.subjects ?? {});
    jobs.push(...subjects.flatMap(toOpenJob));
    brokerTimeMs = Math.min(brokerTimeMs, Date.parse(ts));
    offset += subjects.length;
    more = subjects.length > 0 && offset < total;
  }
  return { brokerTimeMs, jobs };
}

/**
 * One job; undefined when it is not in the queue any more.
 * @throws RepriseError `broker_unavailable`
 */
export async function readJob(
  connection: NatsConnection,
  { ref, model }: OpenJob,
): Promise<QueuedJob | undefined> {
  const request = { last_by_subj: jobSubject(model, ref) };
  const { message } = await ask<GetAnswer>(connection, "MSG.GET", request);
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
  { streamSeq }: Pick<QueuedJob, "streamSeq">,
): Promise<void> {
  await ask<Answer>(connection, "MSG.DELETE", { seq: streamSeq, no_erase: true });
}

/** What is not there is an answer: one without content. */
async function ask<T extends Answer>(connection: NatsConnection, what: string, request: object): Promise<T> {
  let reply: Msg;
  try {
    reply = await connection.request(`$JS.API.STREAM.${what}.${JOBS_STREAM}`, JSON.stringify(request), {
      timeout: TIMEOUT_MS,
    });
  } catch (cause) {
    throw unavailable("no answer", cause);
  }
  const answer = reply.json<T>();
  const { error } = answer;
  if (error && !NOT_THERE.has(error.err_code))
    throw unavailable(`${error.err_code} ${error.description}`, undefined);
  return answer;
}

function toOpenJob(subject: string): OpenJob[] {
  try {
    const { model, tenant, generation } = parseJobSubject(subject);
    return [{ ref: { tenant, generation }, model }];
  } catch {
    return [];
  }
}

function unavailable(reason: string, cause: unknown): RepriseError {
  return new RepriseError("broker_unavailable", `The queue of jobs can't be read: ${reason}.`, {
    cause,
    retryAfterMs: 1_000,
  });
}
