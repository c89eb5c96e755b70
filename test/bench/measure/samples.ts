/** A few thousand exact values, in sum: their mean too, which a histogram has not. */
export interface Samples {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function summarize(values: readonly number[]): Samples {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (fraction: number) => sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? 0;
  const sum = sorted.reduce((total, value) => total + value, 0);
  return { count: sorted.length, mean: sum / (sorted.length || 1), p50: at(0.5), p99: at(0.99), max: at(1) };
}
