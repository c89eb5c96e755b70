import { type UnixMs, toUnixMs } from "@reprise/protocol";
import { EngineError } from "../../engine-error.ts";
import { redactUpstream } from "./redact-upstream.ts";
import { toRefusal } from "./stream-error.ts";
import type { ResponseHeaders, UpstreamAnswer } from "../upstream.ts";

export const MAX_ERROR_BYTES = 64 * 1_024;

const NO_STREAM = /^\s*(text\/html|image|audio|video|multipart)\b/i;

/** Tells whether the answer may be what was asked for: many servers and gateways label a stream as something else. */
export function mayBeStream({ status, headers }: UpstreamAnswer): boolean {
  return status === 200 && !NO_STREAM.test(String(headers["content-type"]));
}

/** Reads what an answer says that is not what was asked for, and returns it as an error. */
export async function toStatusError(answer: UpstreamAnswer, nowMs: UnixMs): Promise<EngineError> {
  const { status, headers } = answer;
  const body = parseBody(await answer.readStart(MAX_ERROR_BYTES));
  if (status < 400) {
    // A body that is not an error may hold the model's own words.
    const said = isError(body) ? redactUpstream(body) : undefined;
    const message = `The engine answered ${status}, but not with text/event-stream.`;
    return new EngineError("engine_failed", message, { retry: "never", said });
  }
  return toRefusal(status, {
    message: `The engine answered ${status}.`,
    retryAfterMs: parseRetryAfterMs(headers, nowMs),
    error: body,
  });
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

const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * When an upstream wants to be asked again, in milliseconds from `nowMs`, at most a day: `retry-after-ms`
 * (OpenAI's), else `Retry-After` in seconds or as a date. Undefined when it says nothing that makes sense.
 */
export function parseRetryAfterMs(headers: ResponseHeaders, nowMs: UnixMs): number | undefined {
  const delayMs = parseDecimal(headers["retry-after-ms"]) ?? parseRetryAfter(headers["retry-after"], nowMs);
  return delayMs === undefined ? undefined : Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS);
}

function parseRetryAfter(values: string | string[] | undefined, nowMs: UnixMs): number | undefined {
  // Proxies repeat the header, and some write its unit.
  const value = Array.isArray(values) ? values[0] : values;
  const seconds = parseDecimal(value?.replace(/^(\d+)(?:s|,.*)$/, "$1"));
  if (seconds !== undefined) return seconds * 1_000;
  // Date.parse takes "-3" for a year; a date in HTTP is in GMT and says so.
  const dateMs = typeof value === "string" && value.endsWith("GMT") ? toUnixMs(value) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : dateMs - nowMs;
}

function parseDecimal(value: string | string[] | undefined): number | undefined {
  return typeof value === "string" && /^\d{1,15}(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}
