import { asSeq, type FinishReason, type Generation, type KnownEvent } from "@reprise/protocol";

/** The end of a generation that has ended, as its log has it, but for its place. */
export function endOf({ status, error, finish_reason: reason, usage }: Generation): KnownEvent {
  // The highest seq: the events that it follows are not looked at.
  const seq = asSeq(Number.MAX_SAFE_INTEGER);
  if (status === "failed" && error) return { seq, type: "generation.failed", error, usage };
  if (status === "completed") {
    const finish_reason = (reason ?? "other") as FinishReason;
    return { seq, type: "generation.completed", finish_reason, usage };
  }
  return { seq, type: "generation.cancelled", reason: "", usage };
}
