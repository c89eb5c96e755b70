import { type TimeoutName, type Transcript, unixNow } from "@reprise/protocol";
import { inSpan } from "@reprise/runtime/telemetry";
import { afterTimeout, type NextStep } from "../../domain/after-turn.ts";
import { toPlanContext } from "../../domain/plan-attempt.ts";
import type { EngineChoice } from "../../model-queues.ts";
import { startToolSpan } from "../trace/trace-turn.ts";
import { readSettled, type Run } from "../open-run.ts";

/**
 * Waits until every tool call of the log has its answer, and returns the next step. Another job has the slot meanwhile:
 * tools, and the people who use them, take their time.
 */
export async function awaitToolResults(run: Run, engine: EngineChoice): Promise<NextStep> {
  run.request.release();
  const ended = await inSpan(startToolSpan(run), () => untilAnswered(run));
  if (ended === "answered") return { kind: "proceed" };
  const transcript = ended === "stopped" ? undefined : await readSettled(run);
  if (!transcript || ended === "stopped") return { kind: "stopped" };
  const { policy, model } = run;
  run.context.metrics.timedOut(transcript.servedModel ?? run.job.model, ended);
  const context = toPlanContext({ request: () => run.request.get(), policy }, model);
  return afterTimeout(ended, { context, transcript, engine, usage: transcript.usage });
}

/** The end of a wait; a timeout's name if one struck. */
type WaitEnd = "answered" | "stopped" | Extract<TimeoutName, "tool_result" | "total">;

/**
 * Waits for all answers, and then for a slot in which to continue. Meanwhile the worker keeps the job, but without a slot. After a takeover the
 * time starts again: the log has the calls, not their time. It also starts again when withheld calls are shown to readers.
 */
async function untilAnswered({ log, job, stop, policy, totalAtMs }: Run): Promise<WaitEnd> {
  const { timeouts, moderation } = policy;
  // After text that a person is asked about, a gate shows nothing.
  const isHeld = ({ reviews }: Transcript) => moderation?.mode === "gate" && reviews.size > 0;
  const over = Promise.withResolvers<Exclude<WaitEnd, "answered">>();
  const totalTimer = setTimeout(() => over.resolve("total"), Math.max(0, totalAtMs - unixNow()));
  let timer: NodeJS.Timeout | undefined;
  const onStop = () => over.resolve("stopped");
  stop.addEventListener("abort", onStop);
  if (stop.aborted) onStop();
  try {
    job.park();
    for (let transcript = await log.transcript(); transcript.pendingCalls.length > 0;) {
      if (isHeld(transcript)) {
        clearTimeout(timer);
        timer = undefined;
      } else timer ??= setTimeout(() => over.resolve("tool_result"), timeouts.tool_result.after_ms);
      const ended = await Promise.race([log.foreignEvent(), over.promise]);
      if (ended) return ended;
      transcript = await log.transcript();
    }
    await job.unpark(stop);
    return stop.aborted ? "stopped" : "answered";
  } finally {
    clearTimeout(totalTimer);
    clearTimeout(timer);
    stop.removeEventListener("abort", onStop);
  }
}
