import { type ErrorCode, isErrorCode, RepriseError } from "@reprise/protocol/wire";

export interface ErrorContext {
  /** The HTTP status; undefined for an error frame inside a stream. */
  status?: number;
  retryAfterMs?: number | undefined;
}

/**
 * What a server says went wrong, as a RepriseError. Its body need not be ours: proxies answer with pages of their own, and a
 * later server has codes that this client does not know. Such an error gets the nearest code whose `retryable` is what the
 * server said or, where it said nothing, what the status means.
 */
export function parseErrorAnswer(body: string, { status, retryAfterMs }: ErrorContext): RepriseError {
  const { code, message, param, retryable } = readError(body);
  const text = typeof message === "string" ? message : `The server answered ${status ?? "an error"}.`;
  const options = { param: typeof param === "string" ? param : undefined, retryAfterMs };
  if (isErrorCode(code)) return new RepriseError(code, text, options);
  const mayRetry = typeof retryable === "boolean" ? retryable : isTransient(status);
  const nearest = mayRetry ? "connection_lost" : codeOfStatus(status);
  return new RepriseError(nearest, typeof code === "string" ? `${code}: ${text}` : text, options);
}

/** The header's delay in milliseconds: whole seconds, or a date, which caches and proxies prefer. */
export function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^\s*[0-9]+\s*$/.test(value)) return Number(value) * 1_000;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

function readError(body: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return {};
  }
  const error = (value as { error?: unknown } | null)?.error;
  return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
}

/** Too early, too slow, too many, or a server in trouble. An error frame breaks a stream that had begun well. */
function isTransient(status: number | undefined): boolean {
  return status === undefined || status >= 500 || status === 408 || status === 425 || status === 429;
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  406: "not_acceptable",
  413: "body_too_large",
  415: "unsupported_media_type",
};

function codeOfStatus(status = 500): ErrorCode {
  if (status >= 500) return "internal";
  return BY_STATUS[status] ?? (status >= 400 ? "invalid_request" : "protocol_violation");
}
