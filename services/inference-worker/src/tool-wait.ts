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
  const late = AbortSignal.timeout(Math.max(0, Math.min(afterMs, remainingMs)));
  const over = AbortSignal.any([stop, late]);
  const overSoon = untilAborted(over);
  job.park();
  while (!over.aborted) {
    const { pendingCalls } = await log.transcript();
    if (pendingCalls.length === 0) {
      await job.unpark(stop);
      return stop.aborted ? "stopped" : "answered";
    }
    await Promise.race([log.othersEvent(), overSoon]);
  }
  if (stop.aborted) return "stopped";
  return afterMs < remainingMs ? "tool_result" : "total";
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
