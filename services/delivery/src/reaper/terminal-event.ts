import { type EventDraft, RepriseError, timeoutError, type Usage } from "@reprise/protocol";
import type { ReapReason, WatchedJob } from "./plan.ts";

/** The event that ends a generation for a reason, as its policy has it. */
export function toTerminalEvent(reason: ReapReason, { policy }: WatchedJob, usage: Usage): EventDraft {
  switch (reason) {
    case "queue_timeout":
      return endOfTimeout("queue", policy.timeouts.queue, usage);
    case "total_timeout":
      return endOfTimeout("total", policy.timeouts.total, usage);
    case "worker_lost": {
      const message = `No worker has ended the generation within its ${policy.timeouts.total.after_ms} ms.`;
      return failed(new RepriseError("worker_lost", message), usage);
    }
    case "abandoned":
      return { type: "generation.cancelled", reason: "abandoned", usage };
  }
}

function endOfTimeout(
  name: "queue" | "total",
  { after_ms, answer }: { after_ms: number; answer: "complete" | "fail" },
  usage: Usage,
): EventDraft {
  if (answer === "complete") return { type: "generation.completed", finish_reason: "timeout", usage };
  return failed(timeoutError(name, after_ms), usage);
}

function failed({ code, message, retryable }: RepriseError, usage: Usage): EventDraft {
  return { type: "generation.failed", error: { code, message, retryable }, usage };
}
