import {
  type EventDraft,
  type Fault,
  failedDraft,
  RepriseError,
  timeoutDraft,
  toFault,
  type Usage,
} from "@reprise/protocol";
import type { ReapReason, WatchedJob } from "./plan.ts";

/** The event that ends a generation for a reason, as its policy has it. */
export function toTerminalEvent(
  reason: ReapReason,
  { policy, silenceMs }: WatchedJob,
  usage: Usage,
): EventDraft {
  switch (reason) {
    case "queue_timeout":
      return timeoutDraft("queue", policy.timeouts.queue, usage);
    case "total_timeout":
      return timeoutDraft("total", policy.timeouts.total, usage);
    case "worker_lost": {
      const message =
        silenceMs === undefined
          ? `No worker has ended the generation within its ${policy.timeouts.total.after_ms} ms.`
          : `The producer was silent for ${silenceMs} ms.`;
      return failedDraft(new RepriseError("worker_lost", message), usage);
    }
    case "abandoned":
      return { type: "generation.cancelled", reason: "abandoned", usage };
  }
}

/** Whose fault such an end is. */
export function reapedFault(reason: ReapReason): Fault {
  return reason === "abandoned" ? "client" : toFault(reason);
}
