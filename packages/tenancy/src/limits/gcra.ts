/**
 * The generic cell rate algorithm, in its virtual scheduling form: a limit's whole state is its theoretical arrival time (TAT), the moment at which everything
 * that was taken has come back. One number per limit, no timer, and no edge at which a window's whole quota is there again.
 */
export interface Quota {
  readonly limit: number;
  readonly windowMs: number;
}

export interface GcraResult {
  /** The new theoretical arrival time. */
  readonly tatMs: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Takes units at a time; undefined when they are not there, or never will be. */
export function takeUnits(
  { limit, windowMs }: Quota,
  tatMs: number | undefined,
  units: number,
  nowMs: number,
): GcraResult | undefined {
  const next = boundTat(tatMs, nowMs, windowMs) + (units * windowMs) / limit;
  return next - nowMs > windowMs * (1 + ROUNDING) ? undefined : standingAt({ limit, windowMs }, next, nowMs);
}

/** Takes units though they may not be there, as far as two windows ahead, or gives them back: no more than has been taken and has not come back. */
export function settleUnits(
  { limit, windowMs }: Quota,
  tatMs: number | undefined,
  units: number,
  nowMs: number,
): GcraResult {
  const next = boundTat(tatMs, nowMs, windowMs) + (units * windowMs) / limit;
  return standingAt({ limit, windowMs }, next, nowMs);
}

/** After how long so many units are there; undefined when they never are. */
export function waitForUnits(
  { limit, windowMs }: Quota,
  tatMs: number | undefined,
  units: number,
  nowMs: number,
): number | undefined {
  if (units > limit) return undefined;
  const next = boundTat(tatMs, nowMs, windowMs) + (units * windowMs) / limit;
  return Math.max(0, next - nowMs - windowMs);
}

export function standingAt({ limit, windowMs }: Quota, tatMs: number | undefined, nowMs: number): GcraResult {
  const boundMs = boundTat(tatMs, nowMs, windowMs);
  const resetMs = boundMs - nowMs;
  const remaining = Math.max(0, Math.floor(((windowMs - resetMs) * limit) / windowMs + ROUNDING));
  return { tatMs: boundMs, remaining, resetMs };
}

/** Two windows ahead at most: a debt beyond that is forgotten, and so is what a clock that has gone back makes of a time. */
function boundTat(tatMs: number | undefined, nowMs: number, windowMs: number): number {
  return Math.min(Math.max(tatMs ?? nowMs, nowMs), nowMs + MAX_WINDOWS * windowMs);
}

const MAX_WINDOWS = 2;

/** What rounding may add to a time or take from a unit, as a part of it: without it one in five calls for the last unit of a quota is refused. */
const ROUNDING = 1e-6;
