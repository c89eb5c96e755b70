import { appendDecision, type GenerationLog, isExpiredOrErased } from "@reprise/stream";
import { type Broker, createWriterName } from "@reprise/broker";
import { openJobs } from "@reprise/jobs";
import {
  logSubject,
  peekSeq,
  RepriseError,
  STREAM_START,
  type Transcript,
  usageAtEnd,
} from "@reprise/protocol";
import { toTerminalEvent } from "./terminal-event.ts";
import { type Effect, type Observation, type ReapReason, reasonToEnd, type WatchedJob } from "./plan.ts";

export interface ExecuteOptions {
  log: GenerationLog;
  broker: Broker;
  leaseMs: number;
  /** Called for an end that this reaper, and no other, has appended. */
  onEnded: (reason: ReapReason, watched: WatchedJob) => void;
}

/** A reaper has time: what does not work now is tried again with the next sweep. */
const BUDGET_MS = 5_000;

/**
 * Executes the effect of `plan`. Everything here is decided by compare-and-set or harmless when repeated, so that any number of reapers
 * may do it at once, and workers meanwhile do theirs.
 * @returns what is the case then
 * @throws RepriseError `broker_unavailable`
 */
export function execute(
  { kind }: Effect,
  watched: WatchedJob,
  looked: Observation,
  options: ExecuteOptions,
): Promise<Observation> {
  switch (kind) {
    case "restore":
      return restore(watched, looked, options);
    case "end":
      return end(watched, looked, options);
    case "delete":
      return remove(watched, looked, options);
  }
}

/** Writes seq 0. Losing the compare-and-set is success. A job without one has nothing that could be ended. */
async function restore(
  { job }: WatchedJob,
  looked: Observation,
  { log, broker }: ExecuteOptions,
): Promise<Observation> {
  const queued = await openJobs.readJob(broker.bulk, job);
  if (queued?.streamSeq !== job.streamSeq) return { ...looked, phase: "gone" };
  if (peekSeq(queued.payload) !== 0) return { ...looked, phase: "ended" };
  const outcome = await log.publish(logSubject(job.ref), queued.payload, {
    expectedLast: STREAM_START,
    writer: createWriterName(),
  });
  if (outcome.kind !== "unavailable") return { ...looked, phase: "queued" };
  throw new RepriseError("broker_unavailable", "The generation's log could not be begun.");
}

async function end(
  watched: WatchedJob,
  looked: Observation,
  { log, leaseMs, onEnded }: ExecuteOptions,
): Promise<Observation> {
  let reason: ReapReason | undefined;
  try {
    const { appended, transcript } = await appendDecision({
      ...log,
      ref: watched.job.ref,
      writer: createWriterName(),
      budgetMs: BUDGET_MS,
      decide(current, first) {
        const phase = phaseOf(current);
        const { heard } = looked;
        // A replica that lags may have told of an earlier event, and the producer may be back.
        const isHeard = heard !== undefined && current.cursor.seq > heard.seq;
        const seen = { ...looked, phase, ...(isHeard && { heard: { ...heard, atMs: looked.atMs } }) };
        reason = current.ended ? undefined : reasonToEnd(watched, seen, leaseMs);
        return reason && toTerminalEvent(reason, watched, usageAtEnd(current, first));
      },
    });
    if (appended && reason) onEnded(reason, watched);
    if (transcript.ended) return { ...looked, phase: "ended" };
    return { ...looked, phase: phaseOf(transcript) };
  } catch (error) {
    if (isExpiredOrErased(error)) return { ...looked, phase: "ended" };
    throw error;
  }
}

function phaseOf({ attempt, attemptEnd }: Transcript): "queued" | "begun" | "handed_over" {
  if (attempt === 0) return "queued";
  return attemptEnd === "handover" ? "handed_over" : "begun";
}

/** Its worker does so itself, mostly; and what it would do with a job whose generation has ended is nothing. */
async function remove(
  { job }: WatchedJob,
  looked: Observation,
  { broker }: ExecuteOptions,
): Promise<Observation> {
  const queued = await openJobs.readJob(broker.bulk, job);
  if (queued?.streamSeq === job.streamSeq) await openJobs.deleteJob(broker.main, job);
  return { ...looked, phase: "gone" };
}
