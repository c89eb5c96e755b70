import { badShareOf, type Burn, BURNS } from "../../../infra/observability/burn.ts";
import { toDuration } from "../../../infra/observability/duration.ts";
import { gaugeSeries, type InputSeries } from "../../../infra/observability/input-series.ts";
import { EXAMPLE_STEPS, type PlainAlert } from "../../../infra/observability/plain-alerts.ts";
import type { Slo } from "../../../infra/observability/slo.ts";

/** A moment in the life of an alert, for `promtool test rules`. */
export interface AlertCase {
  readonly name: string;
  /** Between two samples, and between two evaluations. */
  readonly stepS: number;
  readonly series: readonly InputSeries[];
  readonly atS: number;
  /** Labels of the series `ALERTS`. */
  readonly selector: string;
  readonly fires: boolean;
}

/**
 * A file of unit tests, in JSON, which is YAML too. All cases have the same step.
 *
 * @param groups names of all groups in `files`, in the order in which they are evaluated: promtool's own order is a random one, and an
 *   alert that comes before its recordings finds those of the step before, which may be too old
 */
export function toTestFile(
  cases: readonly AlertCase[],
  { files, groups }: { files: readonly string[]; groups: readonly string[] },
): string {
  const [{ stepS } = { stepS: 60 }] = cases;
  const tests = cases.map(({ name, series, atS, selector, fires }) => ({
    name,
    interval: toDuration(stepS),
    input_series: series,
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertstate="firing",${selector}}) or vector(0)`,
        eval_time: toDuration(atS),
        exp_samples: [{ labels: "{}", value: fires ? 1 : 0 }],
      },
    ],
  }));
  return JSON.stringify({
    rule_files: files,
    evaluation_interval: toDuration(stepS),
    group_eval_order: groups,
    tests,
  });
}

/** Cases of each burn of an objective: fires with the fault, and not with half of it, with too little traffic, or afterwards. */
export function sloCases(slo: Slo): AlertCase[] {
  return BURNS.flatMap((burn) => burnCases(slo, burn));
}

function burnCases(slo: Slo, burn: Burn): AlertCase[] {
  const stepS = Math.max(30, burn.longS / 180);
  const steps = burn.longS / stepS;
  const threshold = badShareOf(slo, burn);
  const base = { stepS, selector: `alertname="${slo.alert}",burn="${burn.factor}"` };
  const atS = burn.longS - stepS;
  const enough = 2 * slo.minEvents;
  const called = (what: string) => `${slo.alert} at ${burn.factor} times: ${what}`;
  const afterSteps = Math.ceil(burn.shortS / stepS) + 2;
  return [
    {
      ...base,
      name: called("fires with the fault"),
      series: example(slo, [{ steps, badShare: 1, events: enough }]),
      atS,
      fires: true,
    },
    {
      ...base,
      name: called("is silent at half that burn"),
      series: example(slo, [{ steps, badShare: threshold / 2, events: enough }]),
      atS,
      fires: false,
    },
    {
      ...base,
      name: called("is silent with too little to judge by"),
      series: example(slo, [{ steps, badShare: 1, events: 0.8 * slo.minEvents }]),
      atS,
      fires: false,
    },
    {
      ...base,
      name: called("ends within the short window"),
      series: example(slo, [
        { steps, badShare: 1, events: enough },
        { steps: afterSteps, badShare: 0, events: (enough * afterSteps) / steps },
      ]),
      atS: atS + afterSteps * stepS,
      fires: false,
    },
  ];
}

interface Phase {
  readonly steps: number;
  readonly badShare: number;
  /** In all steps. Of a level: evaluations, and all others come before the series exists. */
  readonly events: number;
}

function example({ signal }: Slo, phases: readonly Phase[]): InputSeries[] {
  if (signal.kind === "ratio")
    return signal.example(
      phases.map(({ steps, badShare, events }) => ({
        bad: { steps, perStep: (events / steps) * badShare },
        good: { steps, perStep: (events / steps) * (1 - badShare) },
      })),
    );
  const values = phases.flatMap(({ steps, badShare, events }, phase) =>
    Array.from({ length: steps }, (_, step) => {
      if (phase === 0 && events < steps && step < steps - events) return undefined;
      const isBad = Math.floor((step + 1) * badShare) > Math.floor(step * badShare);
      return isBad ? 2 * signal.limit : 0;
    }),
  );
  return [gaugeSeries(signal.exampleSeries, values)];
}

/** Cases of an alert without a budget. */
export function plainCases({ alert, fires, silent, resolves }: PlainAlert): AlertCase[] {
  const stepS = 60;
  const base = { stepS, atS: (EXAMPLE_STEPS - 1) * stepS, selector: `alertname="${alert}"` };
  return [
    { ...base, name: `${alert}: fires with the fault`, series: fires, fires: true },
    { ...base, name: `${alert}: is silent without it`, series: silent, fires: false },
    { ...base, name: `${alert}: ends with the fault`, series: resolves, fires: false },
  ];
}
