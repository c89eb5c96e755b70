import { setTimeout as pause } from "node:timers/promises";
import { type Broker, createWriterName, type GenerationLog, type Job, type LogSnapshot } from "@reprise/log";
import { logSubject, peekSeq, RepriseError } from "@reprise/protocol";
import { awaitBeginning } from "./await-beginning.ts";

export interface LoadLogContext {
  /** Carries the live feed. */
  readonly connection: Broker["main"];
  readonly log: Pick<GenerationLog, "reader" | "leader" | "publish">;
  readonly onError: (error: unknown) => void;
}

/** How long to go on while the log has no leader. After that the job is given back. */
const BUDGET_MS = 2_000;
const NO_LEADER_PAUSE_MS = 50;

/**
 * A generation's log, with its seq 0: written from the job if delivery died before it could.
 *
 * Delivery queues the job before it stores seq 0, so the worker often has the job first, and its own seq 0 loses to delivery's. That
 * conflict says that seq 0 is stored, or about to be: the leader has it, or the live feed brings it. Only a log without a leader
 * is waited for by time, because no event tells of a new leader.
 * @throws RepriseError `broker_unavailable`
 */
export async function loadLog(context: LoadLogContext, job: Job): Promise<LogSnapshot> {
  const { reader, publish } = context.log;
  const giveUpAt = performance.now() + BUDGET_MS;
  do {
    // A generation that has only been requested, the usual case, is read whole with one request.
    const last = await reader.readLast(job.ref);
    if (last && peekSeq(last.payload) === 0) return { events: [last.payload], streamSeq: last.streamSeq };
    if (last) return reader.readLog(job.ref);
    const outcome = await publish(logSubject(job.ref), job.payload, {
      expectedLast: 0,
      writer: createWriterName(),
    });
    if (outcome.kind === "stored") return { events: [job.payload], streamSeq: outcome.streamSeq };
    const begun = outcome.kind === "conflict" ? await awaitBeginning(context, job.ref) : undefined;
    if (begun) return begun;
    await pause(NO_LEADER_PAUSE_MS);
  } while (performance.now() < giveUpAt);
  throw new RepriseError("broker_unavailable", "The generation's log can't be read or begun.");
}
