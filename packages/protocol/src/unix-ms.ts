import type * as z from "zod";

/**
 * A time in milliseconds since 1970. Whose clock it is of, this process's or the broker's, its name or its comment says. Durations, and
 * times by `performance.now()`, are plain numbers: the brand is there so that the three are not taken for one another.
 */
export type UnixMs = number & z.$brand<"UnixMs">;

/** Later than any time. */
export const NEVER = Number.POSITIVE_INFINITY as UnixMs;

/** For a number that comes from outside, or was computed. */
export function asUnixMs(value: number): UnixMs {
  return value as UnixMs;
}

/** This process's clock. */
export function unixNow(): UnixMs {
  return asUnixMs(Date.now());
}

/** Parses a time in RFC 3339, as events and records have it; NaN for any other text. */
export function toUnixMs(text: string): UnixMs {
  return asUnixMs(Date.parse(text));
}

/** So much later, or earlier where `ms` is negative. */
export function plusMs(time: UnixMs, ms: number): UnixMs {
  return asUnixMs(time + ms);
}
