import type { Sketch } from "./sketch.ts";
import { type Interval, quantileInterval } from "./intervals.ts";

/** Quantiles are within 0.8 %; count, mean, least and greatest are exact. */
export interface Distribution {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Bounds of the quantile of all that could have been measured, with 95 % confidence; absent if too few values were measured. */
  readonly p50_interval?: Interval;
  readonly p95_interval?: Interval;
}

const DECIMALS = 1_000;

/** @param unit of the sketch's values in one of the result's. @returns null without values */
export function toDistribution(sketch: Sketch, unit: number): Distribution | null {
  const { count, sum, min, max } = sketch.summary;
  if (count === 0) return null;
  const at = (q: number) => round((sketch.quantile(q) ?? 0) / unit);
  const between = (q: number): Interval | undefined => {
    const found = quantileInterval(sketch, q);
    return found && [round(found[0] / unit), round(found[1] / unit)];
  };
  const [p50, p95] = [between(0.5), between(0.95)];
  return {
    count,
    mean: round(sum / count / unit),
    min: round(min / unit),
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    max: round(max / unit),
    ...(p50 && { p50_interval: p50 }),
    ...(p95 && { p95_interval: p95 }),
  };
}

function round(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS;
}
