import type { Job } from "@reprise/log";
import type { Transcript } from "@reprise/protocol";
import type { RunLog } from "./run-log.ts";

export interface ToolWait {
  readonly log: RunLog;
  readonly job: Job;
  readonly stop: AbortSignal;
  /** How long all answers together may take. */
  readonly afterMs: number;
  /** Whether readers may not be shown the calls yet: then that time does not run. */
  readonly isHeld: (transcript: Transcript) => boolean;
  /** When the generation as a whole has to be over, in wall-clock milliseconds. */
  readonly totalAtMs: number;
}

export type ToolWaitResult = "answered" | "tool_result" | "total" | "stopped";

/**
 * Waits until every tool call of the log has its answer, and then for a slot to go on in. Meanwhile the job stays this worker's, but
 * takes no slot. After a takeover the time begins anew: the log says what was asked, not when. It does so when readers who had to wait
 * for the calls are shown them.
 * @returns the timeout that struck, if one did
 */
export async function awaitToolResults({
  log,
  job,
  stop,
  afterMs,
  isHeld,
  totalAtMs,
}: ToolWait): Promise<ToolWaitResult> {
  const remainingMs = totalAtMs - Date.now();
  const over = Promise.withResolvers<Exclude<ToolWaitResult, "answered">>();
  const totalTimer = setTimeout(() => over.resolve("total"), Math.max(0, remainingMs));
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
      } else timer ??= setTimeout(() => over.resolve("tool_result"), afterMs);
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
