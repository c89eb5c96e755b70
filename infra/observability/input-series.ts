/** Input of promtool's unit tests: a series, and its values in promtool's notation, one each step. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

/** A stretch of time in which a counter grows evenly. */
export interface Stretch {
  readonly steps: number;
  readonly perStep: number;
}

/** A counter that starts at 0. */
export function counterSeries(series: string, stretches: readonly Stretch[]): InputSeries {
  let value = 0;
  const values = stretches.map(({ steps, perStep }) => {
    const notation = `${value}+${perStep}x${steps - 1}`;
    value += perStep * steps;
    return notation;
  });
  return { series, values: values.join(" ") };
}

/** @param values one for each step; undefined where there is no sample */
export function gaugeSeries(series: string, values: readonly (number | undefined)[]): InputSeries {
  return { series, values: values.map((value) => value ?? "_").join(" ") };
}
