import { type UnixMs, toUnixMs } from "@reprise/protocol";

const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

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
