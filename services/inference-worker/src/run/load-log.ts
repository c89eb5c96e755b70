import { setTimeout as pause } from "node:timers/promises";
import {
  type Broker,
  createWriterName,
  type GenerationLog,
  type Job,
  type LogSnapshot,
  waitUntilBegun,
} from "@reprise/log";
import { type GenerationRef, logSubject, peekSeq, RepriseError } from "@reprise/protocol";

export interface LoadLogContext {
  /** Carries the live feed. */
  readonly connection: Broker["main"];
  readonly log: Pick<GenerationLog, "reader" | "leader" | "publish">;
  readonly onError: (error: unknown) => void;
}

/** How long to go on while the log has no leader. After that the job is given back. */
const BUDGET_MS = 2_000;
const NO_LEADER_PAUSE_MS = 50;
/** A larger seq 0 is not raced for: losing would cost its bytes twice, once to the broker and once, in base64, from the leader. */
const LARGE_BYTES = 64 * 1_024;

/**
 * A generation's log, with its seq 0: written from the job if delivery died before it could.
 *
 * Delivery queues the job before it stores seq 0, so the worker often has the job first, and its own seq 0 loses to delivery's. That
 * conflict says that seq 0 is stored, or about to be: the leader has it, or the live feed tells when it has. A large seq 0 is left to
 * delivery for a second, and the live feed tells of it too. Only a log without a leader is waited for by time, because no event tells of a
 * new leader.
 * @throws RepriseError `broker_unavailable`
 */
export async function loadLog(context: LoadLogContext, job: Job): Promise<LogSnapshot> {
  const { connection, log, onError } = context;
  const giveUpAt = performance.now() + BUDGET_MS;
  do {
    const read = () => readBegun(log, log.reader, job.ref);
    const isLarge = job.payload.length > LARGE_BYTES;
    const known = await (isLarge ? waitUntilBegun(job.ref, { connection, onError, read }) : read());
    if (known) return known;
    const outcome = await log.publish(logSubject(job.ref), job.payload, {
      expectedLast: 0,
      writer: createWriterName(),
    });
    if (outcome.kind === "stored") return { events: [job.payload], streamSeq: outcome.streamSeq };
    if (outcome.kind === "conflict") {
      const readLeader = () => readBegun(log, log.leader, job.ref);
      const begun = await waitUntilBegun(job.ref, { connection, onError, read: readLeader });
      if (begun) return begun;
    }
    await pause(NO_LEADER_PAUSE_MS);
  } while (performance.now() < giveUpAt);
  throw new RepriseError("broker_unavailable", "The generation's log can't be read or begun.");
}

/** A log that has begun. One that has only been requested, the usual case, is read whole with one request. */
async function readBegun(
  { reader }: LoadLogContext["log"],
  source: Pick<LoadLogContext["log"]["reader"], "readLast">,
  ref: GenerationRef,
): Promise<LogSnapshot | undefined> {
  const last = await source.readLast(ref);
  if (!last) return undefined;
  return peekSeq(last.payload) === 0
    ? { events: [last.payload], streamSeq: last.streamSeq }
    : reader.readLog(ref);
}
