import type { UnixMs } from "@reprise/protocol";
import { EngineError, type EngineRetry } from "../../engine-error.ts";
import { redactUpstream } from "./redact-upstream.ts";
import { parseRetryAfterMs } from "./retry-after.ts";
import { PASSING_STATUSES } from "./stream-error.ts";
import type { UpstreamAnswer } from "../upstream.ts";

const MAX_ERROR_BYTES = 64 * 1_024;
/** Too many requests, no room for this one, overloaded: the upstream has not begun with it. */
const BUSY_STATUSES = new Set([429, 503, 529]);
/** A server, or a gateway in front of it, has waited for too long: who was asked may still be at it. */
const SILENT_STATUSES = new Set([408, 504, 524]);
/** What an upstream calls a request that does not fit its context, in its error's `code` or `type`. */
const TOO_LONG = new Set(["context_length_exceeded", "exceed_context_size_error"]);

/** Whether the answer is what was asked for. */
export function isEventStream({ status, headers }: UpstreamAnswer): boolean {
  return status === 200 && /^\s*text\/event-stream\s*(;|$)/i.test(String(headers["content-type"]));
}

/**
 * An answer that is not what was asked for, as an error. Reads what it says.
 * @param to what it is an answer to, where that is no chat completion: ` to …`
 */
export async function toStatusError(answer: UpstreamAnswer, nowMs: UnixMs, to = ""): Promise<EngineError> {
  const { status, headers } = answer;
  const body = parseBody(await answer.readStart(MAX_ERROR_BYTES));
  if (status < 400) {
    // A body that is not an error may hold the model's own words.
    const said = isError(body) ? redactUpstream(body) : undefined;
    const message = `The engine answered ${status}${to || ", but not with text/event-stream"}.`;
    return new EngineError("engine_failed", message, { retry: "never", said });
  }
  const said = redactUpstream(body);
  if (status === 401 || status === 403) {
    const message = `The engine refused the platform's key (${status}).`;
    return new EngineError("engine_rejected", message, { retry: "never", said });
  }
  const message = `The engine answered ${status}${to}.`;
  if (status >= 500 || PASSING_STATUSES.has(status)) {
    return new EngineError("engine_unavailable", message, {
      retry: toRetry(status),
      retryAfterMs: parseRetryAfterMs(headers, nowMs),
      said,
    });
  }
  const why = isTooLong(body) ? " The request does not fit the model's context." : "";
  return new EngineError("engine_rejected", message + why, { retry: "never", said });
}

function toRetry(status: number): EngineRetry {
  if (BUSY_STATUSES.has(status)) return "busy";
  return SILENT_STATUSES.has(status) ? "silent" : "broken";
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A page of a proxy, or JSON cut at the limit: there is no message to find in the one and text in the other.
    return text.trimStart().startsWith("<") ? undefined : text;
  }
}

function isError(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  return ("error" in body && Boolean(body.error)) || ("object" in body && body.object === "error");
}

function isTooLong(body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  const { error, code, type } = body as Record<string, unknown>;
  return [code, type].some((name) => typeof name === "string" && TOO_LONG.has(name)) || isTooLong(error);
}
