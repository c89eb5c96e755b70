import { type ErrorCode, RepriseError } from "@reprise/protocol/wire";

export interface ErrorContext {
  /** The HTTP status; undefined for an error frame inside a stream. */
  status?: number;
  retryAfterMs?: number | undefined;
}

/**
 * Parses a server's error answer as a RepriseError. A code that this version does not know is passed on with the server's description of it. The body may
 * not be the platform's: proxies answer with pages of their own. Such an error, which does not say if it is retryable, gets the code that is nearest to its
 * status.
 */
export function parseErrorAnswer(body: string, { status, retryAfterMs }: ErrorContext): RepriseError {
  const { code, message, param, retryable } = readError(body);
  const text = typeof message === "string" ? message : `The server answered ${status ?? "an error"}.`;
  const options = { param: typeof param === "string" ? param : undefined, retryAfterMs };
  const said = typeof code === "string" ? code : "";
  if (said && typeof retryable === "boolean")
    return new RepriseError(said as ErrorCode, text, { ...options, retryable });
  return new RepriseError(codeOfStatus(status), (said && `${said}: ${text}`) || text, options);
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

/** Too early, too slow, too many, or a server in trouble. */
function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  413: "body_too_large",
};

function codeOfStatus(status: number | undefined): ErrorCode {
  // An error frame breaks a stream that had begun well.
  if (status === undefined || isTransient(status)) return "connection_lost";
  return BY_STATUS[status] ?? (status >= 400 ? "invalid_request" : "protocol_violation");
}
