import { EngineError, type EngineRetry } from "../../engine-error.ts";
import { redactUpstream } from "./redact-upstream.ts";

/** Statuses of an error that may be gone next time, although they are the request's: a timeout, a conflict, too early, too many. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 424, 425, 429, 498]);
/** Too many requests, no room for this one, overloaded: the upstream has not begun with it. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 498, 503, 529]);
/** A server, or a gateway in front of it, has waited for too long: who was asked may still be at it. */
const SILENT_STATUSES: ReadonlySet<number> = new Set([408, 504, 524]);

/** Words of upstreams for a status. */
const NAMED_STATUSES: readonly (readonly [RegExp, number])[] = [
  [/rate.?limit|throttl|too.?many.?requests|resource.?exhausted|insufficient.?quota|quota.?exceeded/i, 429],
  [/overload|capacity|unavailable|model.?loading/i, 503],
  [/time.?out|deadline/i, 504],
  [/invalid.?request|bad.?request|validation|context.?length/i, 400],
  [/authentication|unauthorized|invalid.?api.?key/i, 401],
  [/permission|forbidden/i, 403],
  [/not.?found/i, 404],
];

/** An error that an upstream gives in mid-stream. */
export function toStreamError(error: unknown): EngineError {
  const status = statusOf(error);
  const isRefusal = status !== undefined && status < 500 && !PASSING_STATUSES.has(status);
  return new EngineError("engine_failed", "The engine failed in mid-stream.", {
    retry: isRefusal ? "never" : "broken",
    said: redactUpstream(error),
  });
}

/**
 * An error that an upstream gives in the place of its first words: what an answer with the status that it names would be.
 * @param retryAfterMs what the answer's headers say
 */
export function toEarlyError(error: unknown, retryAfterMs?: number): EngineError {
  const status = statusOf(error);
  if (status === undefined) {
    const said = redactUpstream(error);
    return new EngineError("engine_failed", "The engine answered with an error.", { retry: "broken", said });
  }
  return toRefusal(status, { message: `The engine answered ${status} in its stream.`, retryAfterMs, error });
}

export interface Refusal {
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** The upstream's error. */
  readonly error: unknown;
}

/** Statuses of a wrong request. The key and the model's name are the operator's. */
const REQUEST_STATUSES = new Set([400, 413, 422]);

/** A status of 400 or more as an error. */
export function toRefusal(named: number, { message, error, ...rest }: Refusal): EngineError {
  const { retryAfterMs = waitOf(error) } = rest;
  const said = redactUpstream(error);
  // Some name it in the error alone.
  const status = named === 400 && statusOf(error) === 429 ? 429 : named;
  if (status === 401 || status === 403) {
    const refused = `The engine refused the platform's key (${status}).`;
    return new EngineError("engine_rejected", refused, { retry: "never", said });
  }
  if (status >= 500 || PASSING_STATUSES.has(status))
    return new EngineError("engine_unavailable", message, { retry: toRetry(status), retryAfterMs, said });
  const why = isTooLong(error) ? " The request does not fit the model's context." : "";
  const isRequests = REQUEST_STATUSES.has(status);
  return new EngineError("engine_rejected", message + why, { retry: "never", said, isRequests });
}

function toRetry(status: number): EngineRetry {
  if (BUSY_STATUSES.has(status)) return "busy";
  return SILENT_STATUSES.has(status) ? "silent" : "broken";
}

/** The status that an error names, as a number or by a word; undefined for one that names none. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const {
    error: inner,
    code,
    status,
    status_code: statusCode,
    type,
    __type: kind,
  } = error as Record<string, unknown>;
  if (typeof inner === "object" && inner !== null) return statusOf(inner) ?? statusOf({ code, status, type });
  const names = [code, status, statusCode, type, kind];
  const number = names.map(Number).find((value) => value >= 400 && value < 600);
  if (number !== undefined) return number;
  const words = names.filter((name) => typeof name === "string").join(" ");
  return NAMED_STATUSES.find(([pattern]) => pattern.test(words))?.[1];
}

/** When an upstream wants to be asked again, where its error alone says so: Google's `retryDelay`, or a sentence. */
function waitOf(error: unknown): number | undefined {
  const text = (JSON.stringify(error) ?? "").slice(0, 4_096);
  const [, seconds] =
    /"retryDelay":"(\d{1,6}(?:\.\d+)?)s"|try again in (\d{1,6}(?:\.\d+)?)s/i.exec(text)?.filter(Boolean) ??
    [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** An error's `code` or `type` for a request that does not fit its context. */
const TOO_LONG: ReadonlySet<unknown> = new Set(["context_length_exceeded", "exceed_context_size_error"]);

function isTooLong(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  const { error, code, type } = body as Record<string, unknown>;
  return TOO_LONG.has(code) || TOO_LONG.has(type) || isTooLong(error);
}
