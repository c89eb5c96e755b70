import { EngineError } from "../../engine-error.ts";
import { redactUpstream } from "./redact-upstream.ts";

/** Statuses of an error that may be gone next time, although they are the request's: a timeout, a conflict, too early, too many. */
export const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** What an upstream says in mid-stream about its failure, as an error. */
export function toStreamError(error: unknown): EngineError {
  return new EngineError("engine_failed", "The engine failed in mid-stream.", {
    retry: isRefusal(error) ? "never" : "broken",
    said: redactUpstream(error),
  });
}

/** Whether the upstream says that the request is at fault, by the status that it would have answered with. */
function isRefusal(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { error: inner, code, status } = error as Record<string, unknown>;
  if (inner !== undefined) return isRefusal(inner);
  const said = Number(code ?? status);
  return said >= 400 && said < 500 && !PASSING_STATUSES.has(said);
}
