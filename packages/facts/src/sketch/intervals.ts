import type { Sketch } from "./sketch.ts";

/** Deviations that hold 95 in 100 samples of a normal distribution. */
const Z = 1.959_964;

/** From, to. */
export type Interval = readonly [low: number, high: number];

/** Bounds the share that `met` of `of` samples have, with 95 % confidence: Wilson's score interval. Undefined without samples. */
export function shareInterval(met: number, of: number): Interval | undefined {
  if (of === 0) return undefined;
  const share = met / of;
  const z2 = Z * Z;
  const middle = (share + z2 / (2 * of)) / (1 + z2 / of);
  const half = (Z / (1 + z2 / of)) * Math.sqrt((share * (1 - share)) / of + z2 / (4 * of * of));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/**
 * Bounds a quantile with 95 % confidence for any distribution, by the values at the ranks around the quantile's rank. Undefined if there are too few values for such ranks.
 */
export function quantileInterval(sketch: Sketch, q: number): Interval | undefined {
  const { count } = sketch;
  const half = Z * Math.sqrt(count * q * (1 - q));
  const low = Math.floor(count * q - half);
  const high = Math.ceil(count * q + half);
  if (low < 0 || high > count - 1 || count < 2) return undefined;
  const valueAt = (rank: number) => sketch.quantile(rank / (count - 1)) ?? 0;
  return [valueAt(low), valueAt(high)];
}
