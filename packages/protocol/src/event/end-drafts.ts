import type { RepriseError } from "../errors/reprise-error.ts";
import { timeoutError, type TimeoutName } from "../request/timeouts.ts";
import type { EventDraft, Usage } from "./event.ts";

/* Ends that the platform gives a generation: the worker that runs it, or the reaper where no worker does. */

type Draft<Type extends EventDraft["type"]> = Extract<EventDraft, { type: Type }>;

export function failedDraft(
  { code, message, retryable }: RepriseError,
  usage: Usage,
): Draft<"generation.failed"> {
  return { type: "generation.failed", error: { code, message, retryable }, usage };
}

/** The end of a generation that a timeout has struck, for good: `complete` keeps what there is. */
export function timeoutDraft(
  name: TimeoutName,
  { after_ms: afterMs, answer }: { after_ms: number; answer: "complete" | (string & {}) },
  usage: Usage,
): Draft<"generation.completed" | "generation.failed"> {
  if (answer === "complete") return { type: "generation.completed", finish_reason: "timeout", usage };
  return failedDraft(timeoutError(name, afterMs), usage);
}
