import type { Job } from "@reprise/log";
import type { RunLog } from "./run-log.ts";

export interface ToolWait {
  readonly log: RunLog;
  readonly job: Job;
  readonly stop: AbortSignal;
  /** How long all answers together may take. */
  readonly afterMs: number;
  /** When the generation as a whole has to be over, in wall-clock milliseconds. */
  readonly totalAtMs: number;
}

export type ToolWaitResult = "answered" | "tool_result" | "total" | "stopped";

/**
 * Waits until every tool call of the log has its answer, and then for a slot to go on in. Meanwhile the job stays this worker's, but
 * takes no slot. After a takeover the time begins anew: the log says what was asked, not when.
 * @returns the timeout that struck, if one did
 */
export async function untilAnswered({
  log,
  job,
  stop,
  afterMs,
  totalAtMs,
}: ToolWait): Promise<ToolWaitResult> {
  const remainingMs = totalAtMs - Date.now();
  const over = Promise.withResolvers<Exclude<ToolWaitResult, "answered">>();
  const onTimeout = () => over.resolve(afterMs < remainingMs ? "tool_result" : "total");
  const timer = setTimeout(onTimeout, Math.max(0, Math.min(afterMs, remainingMs)));
  const onStop = () => over.resolve("stopped");
  stop.addEventListener("abort", onStop);
  if (stop.aborted) onStop();
  try {
    job.park();
    while ((await log.transcript()).pendingCalls.length > 0) {
      const ended = await Promise.race([log.othersEvent(), over.promise]);
      if (ended) return ended;
    }
    await job.unpark(stop);
    return stop.aborted ? "stopped" : "answered";
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", onStop);
  }
}
