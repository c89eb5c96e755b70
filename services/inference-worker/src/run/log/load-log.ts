import { beginLog, type GenerationLog, type LogSnapshot } from "@reprise/stream";
import { type Broker } from "@reprise/broker";
import { type Job } from "@reprise/jobs";
import { type GenerationRef, peekSeq } from "@reprise/protocol";

interface LoadLogContext {
  /** Carries the live feed. */
  readonly connection: Broker["main"];
  readonly log: Pick<GenerationLog, "reader" | "leader" | "publish">;
  readonly onError: (error: unknown) => void;
}

/** Time to retry while the log has no leader. After that the job is given back. */
const BUDGET_MS = 2_000;
/** A larger seq 0 is not raced for: losing would cost its bytes twice, once to the broker and once, in base64, from the leader. */
const LARGE_BYTES = 64 * 1_024;

/**
 * A generation's log, with its seq 0: written from the job if delivery died before it could.
 *
 * Delivery queues the job before it stores seq 0, so the worker often has the job first, and its own seq 0 loses to delivery's. A large
 * seq 0 is left to delivery for a second, and the live feed tells of it.
 * @throws RepriseError `broker_unavailable`
 */
export async function loadLog(
  { connection, log, onError }: LoadLogContext,
  { ref, payload }: Pick<Job, "ref" | "payload">,
): Promise<LogSnapshot> {
  const begun = await beginLog({
    connection,
    onError,
    publish: log.publish,
    ref,
    payload,
    first: payload.length > LARGE_BYTES ? "wait" : "read",
    read: () => readBegun(log, log.reader, ref),
    readLeader: () => readBegun(log, log.leader, ref),
    budgetMs: BUDGET_MS,
  });
  return begun.kind === "found" ? begun.log : { events: [payload], streamSeq: begun.streamSeq };
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
