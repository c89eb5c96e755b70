import { announceEnd, appendDecision } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import { type Job } from "@reprise/jobs";
import {
  failedDraft,
  RepriseError,
  toFault,
  toRepriseError,
  type MediaTranscript,
  unixNow,
  usageAtEnd,
} from "@reprise/protocol";
import { awaitTurns } from "./await-turns.ts";
import { finishRun } from "./finish-run.ts";
import type { ServedModel } from "../model-queues.ts";
import { planRun } from "./plan-run.ts";
import { runAttempts } from "./run-attempts.ts";
import { traceRun } from "./trace/trace-run.ts";
import type { RunContext, RunResult, StalePlan } from "./run-context.ts";

const MAX_PLANS = 20;

/**
 * Runs one generation, from the job to its end in the log or until this worker is fenced, in three steps: plan the work that its log leaves,
 * run attempts at it, finish with the end in the log and the job.
 *
 * The run follows its own log. Other processes end it by an event there (a cancel, a higher attempt, a halt), which arrives on the live
 * feed or with the next append; it aborts the engine's request, and nothing more is written.
 *
 * A plan is made for the log as it was read. If the log has grown before the plan's first event is stored (a worker
 * that is being taken over wrote a last event, a replica lagged), nothing is written, and a new plan is made at once, for the log as the
 * lost append has shown it. The same happens when moderation halts the run.
 *
 * A turn of a conversation that waits for earlier turns has a plan of its own; the next plan is made when they have ended.
 *
 * Failures that may be temporary are thrown, and the job comes back. A defect ends the generation: the job would come back for ever.
 */
export async function runGeneration(context: RunContext, job: Job, model: ServedModel): Promise<RunResult> {
  const takenAtMs = unixNow();
  try {
    let stale: StalePlan = { snapshot: undefined };
    for (let plans = 0; plans < MAX_PLANS; plans++) {
      const planned = await planRun(context, { job, model, stale, takenAtMs });
      if (typeof planned === "string") return planned;
      using run = planned;
      const finished = await traceRun(run.span, async () => {
        const { first } = run;
        if (first.kind === "wait") return { end: undefined, finished: await awaitTurns(run, first) };
        const end = first.kind === "end" ? first.draft : await runAttempts(run, first);
        return { end, finished: await finishRun(run, end) };
      });
      if (typeof finished === "string") return finished;
      stale = finished;
    }
    throw new RepriseError(
      "broker_unavailable",
      "The generation's log grows while no attempt at it has begun.",
    );
  } catch (thrown) {
    return endAfterDefect(context, job, thrown);
  }
}

/** @throws what was thrown, where it may go better the next time */
async function endAfterDefect(
  { connection, log, metrics, onError }: RunContext,
  job: Job,
  thrown: unknown,
): Promise<RunResult> {
  const error = toRepriseError(thrown);
  if (error.retryable) throw error;
  onError(thrown);
  const decide = (found: MediaTranscript, first: Uint8Array) => {
    const { ended, usage } = found;
    if (ended) return undefined;
    return failedDraft(error, usage.output_tokens > 0 ? usageAtEnd(found, first) : usage);
  };
  const { appended, transcript } = await appendDecision({
    ...log,
    ref: job.ref,
    writer: createWriterName(),
    decide,
  });
  if (appended) metrics.generationEnded(toFault(error.code));
  announceEnd(connection, job.ref, transcript.usage);
  await job.ack();
  return "failed";
}
