import type { RuleGroup } from "../../../infra/observability/rules/rule.ts";
import type { Exposition } from "./exposition.ts";
import { namesIn } from "./promql-names.ts";

/** The metrics and labels that expressions name and that are neither emitted nor recorded by a rule, in words. */
export function findUnknownNames(
  expressions: readonly string[],
  groups: readonly RuleGroup[],
  emitted: Exposition,
): string[] {
  const known = new Map([...emitted].map(([metric, labels]) => [metric, new Set(labels)]));
  for (const rule of groups.flatMap(({ rules }) => rules)) {
    if (!("record" in rule)) continue;
    const { series, groupings } = namesIn(rule.expr);
    const kept = series.some(({ metric }) => metric.startsWith("reprise:"))
      ? series.flatMap(({ metric }) => [...(known.get(metric) ?? [])])
      : groupings;
    const labels = known.get(rule.record) ?? new Set();
    for (const label of [...kept, ...Object.keys(rule.labels ?? {})]) labels.add(label);
    known.set(rule.record, labels);
  }
  const problems = expressions.flatMap((expr) => {
    const { series, groupings } = namesIn(expr);
    const present = series.flatMap(({ metric }) => [...(known.get(metric) ?? [])]);
    return [
      ...series.flatMap(({ metric, labels }) => unknownOf(metric, labels, known.get(metric))),
      ...groupings.filter((label) => !present.includes(label)).map((label) => `label ${label} in ${expr}`),
    ];
  });
  return [...new Set(problems)];
}

function unknownOf(
  metric: string,
  labels: readonly string[],
  known: ReadonlySet<string> | undefined,
): string[] {
  if (known === undefined) return [metric];
  return labels.filter((label) => !known.has(label)).map((label) => `${metric}{${label}}`);
}
