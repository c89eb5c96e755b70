import type { Job } from "@reprise/jobs";
import { type RequestedEvent, toUnixMs, type UnixMs } from "@reprise/protocol";
import {
  inSpan,
  JOB_SPAN,
  MESSAGING,
  parseTraceparent,
  REPRISE,
  type Tracing,
  type TraceSpan,
} from "@reprise/runtime/telemetry";
import type { EndDraft } from "../../domain/after-turn.ts";
import type { RunResult, StalePlan } from "../run-context.ts";

interface RunSpanOptions {
  readonly job: Job;
  /** Undefined where it has expired. */
  readonly requested: RequestedEvent | undefined;
  /** The attempt that the run begins with; undefined where it only ends the generation. */
  readonly attempt: number | undefined;
  /** When the worker took the job. */
  readonly takenAtMs: UnixMs;
}

/**
 * The span of one worker's run: a child of the request that created the generation, as its seq 0 has it, with a link to what has queued the
 * job. That is another trace's where the job was lost and queued again. All runs of a generation are siblings that share both.
 */
export function startRunSpan(
  tracing: Tracing,
  { job, requested, attempt, takenAtMs }: RunSpanOptions,
): TraceSpan {
  const queued = parseTraceparent(job.trace ?? "");
  return tracing.start("process jobs", {
    kind: "consumer",
    parent: parseTraceparent(requested?.traceparent ?? ""),
    links: queued ? [queued] : [],
    startedAtMs: takenAtMs,
    attributes: {
      ...JOB_SPAN,
      [MESSAGING.operation]: "process",
      [MESSAGING.operationType]: "process",
      [MESSAGING.messageId]: job.ref.generation,
      [REPRISE.tenant]: job.ref.tenant,
      [REPRISE.generation]: job.ref.generation,
      [REPRISE.model]: job.model,
      [REPRISE.deliveries]: job.deliveries,
      [REPRISE.attempt]: attempt,
      // Of the first run alone: later ones wait for other reasons. Clocks of two machines may differ.
      [REPRISE.queueWaitMs]:
        attempt === 1 && requested ? Math.max(0, takenAtMs - toUnixMs(requested.created_at)) : undefined,
    },
  });
}

/** Ends the run's span with what became of the run. A run that another writer has ended, or that is handed over, has not failed. */
export function traceRun(
  span: TraceSpan,
  work: () => Promise<{ finished: RunResult | StalePlan; end: EndDraft | undefined }>,
): Promise<RunResult | StalePlan> {
  return inSpan(span, async () => {
    const { finished, end } = await work();
    const result = typeof finished === "string" ? finished : "planned_again";
    span.set({ [REPRISE.result]: result });
    if (result === "failed" && end?.type === "generation.failed") span.fail(end.error.code);
    return finished;
  });
}
