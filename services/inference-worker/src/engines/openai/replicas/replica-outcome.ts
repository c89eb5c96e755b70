import { EngineSilence, SILENT_MS } from "../../engine.ts";
import { EngineError } from "../../engine-error.ts";
import type { ReplicaOutcome } from "./replica-state.ts";

/** A refusal of these: the server has another key or another model than it should have. Of others the request is at fault. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404]);
/** The pause of a busy server that does not state one, and the longest pause that a server may state. */
const BUSY_MS = 1_000;
const LONGEST_BUSY_MS = 10_000;

const LEFT: ReplicaOutcome = { kind: "left" };

/**
 * Returns the outcome for a server of a request that was not answered to its end.
 * @param error the failure; undefined if the reader has left
 * @param status of the answer; undefined if there was none
 */
export function outcomeOf(
  error: unknown,
  signal: Pick<AbortSignal, "aborted" | "reason">,
  status?: number,
): ReplicaOutcome {
  const cause: unknown = signal.aborted ? signal.reason : error;
  // A policy may have less patience than the best of servers needs.
  if (cause instanceof EngineSilence)
    return cause.silentMs >= SILENT_MS ? { kind: "failed", because: cause.message } : LEFT;
  if (!(cause instanceof EngineError)) return LEFT;
  const { message: because, retry, retryAfterMs = BUSY_MS } = cause;
  if (status !== undefined && REFUSALS.has(status)) return { kind: "refused", because };
  if (retry === "never") return LEFT;
  if (retry !== "busy" || status === undefined) return { kind: "failed", because };
  return { kind: "busy", forMs: Math.min(retryAfterMs, LONGEST_BUSY_MS) };
}
