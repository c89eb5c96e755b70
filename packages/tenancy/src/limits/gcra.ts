/**
 * The generic cell rate algorithm, in its virtual scheduling form: a limit's whole state is its theoretical arrival time (TAT), the moment at which everything
 * that was taken has come back. No timer, and no edge at which a window's whole quota is there again.
 */
export interface Quota {
  readonly limit: number;
  readonly windowMs: number;
}

/** All that is kept of a limit. */
export interface RateState {
  /** The theoretical arrival time. */
  readonly tatMs: number;
  /** When it was written: more than a window later than now where the clock has gone back. */
  readonly writtenMs: number;
}

export interface GcraResult {
  readonly state: RateState;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Takes units at a time; undefined when they are not there, or never will be. */
export function takeUnits(
  { limit, windowMs }: Quota,
  state: RateState | undefined,
  units: number,
  nowMs: number,
): GcraResult | undefined {
  const next = boundTat(state, nowMs, windowMs) + (units * windowMs) / limit;
  return next - nowMs > windowMs * (1 + ROUNDING) ? undefined : resultAt({ limit, windowMs }, next, nowMs);
}

/** Takes units though they may not be there, as far as sixty windows ahead, or gives them back: no more than has been taken and has not come back. */
export function settleUnits(
  { limit, windowMs }: Quota,
  state: RateState | undefined,
  units: number,
  nowMs: number,
): GcraResult {
  const next = boundTat(state, nowMs, windowMs) + (units * windowMs) / limit;
  return resultAt({ limit, windowMs }, next, nowMs);
}

/** Returns the milliseconds until the units are available; undefined if they never are. */
export function waitForUnits(
  { limit, windowMs }: Quota,
  state: RateState | undefined,
  units: number,
  nowMs: number,
): number | undefined {
  if (units > limit) return undefined;
  const next = boundTat(state, nowMs, windowMs) + (units * windowMs) / limit;
  return Math.max(0, next - nowMs - windowMs);
}

export function standingAt(quota: Quota, state: RateState | undefined, nowMs: number): GcraResult {
  return resultAt(quota, boundTat(state, nowMs, quota.windowMs), nowMs);
}

function resultAt({ limit, windowMs }: Quota, tatMs: number, nowMs: number): GcraResult {
  const boundMs = Math.min(Math.max(tatMs, nowMs), nowMs + MAX_WINDOWS * windowMs);
  const resetMs = boundMs - nowMs;
  const remaining = Math.max(0, Math.floor(((windowMs - resetMs) * limit) / windowMs + ROUNDING));
  return { state: { tatMs: boundMs, writtenMs: nowMs }, remaining, resetMs };
}

function boundTat(state: RateState | undefined, nowMs: number, windowMs: number): number {
  if (!state) return nowMs;
  const windows = state.writtenMs > nowMs + windowMs ? MAX_WINDOWS_OF_OTHER_CLOCK : MAX_WINDOWS;
  return Math.min(Math.max(state.tatMs, nowMs), nowMs + windows * windowMs);
}

/** Limit of a debt, in windows. Use beyond a quota has to be paid back too; a debt beyond this limit is forgotten. */
export const MAX_WINDOWS = 60;
/** Limit of a debt, in windows, after a clock was set back. It turns all earlier writes into debts, which no call should wait for. */
export const MAX_WINDOWS_OF_OTHER_CLOCK = 2;

/** Rounding error of a time or a unit, as a part of it. Without it, one in five calls for the last unit of a quota is refused. */
const ROUNDING = 1e-6;
