import type { PrometheusTarget } from "../../../infra/observability/dashboards/panels.ts";
import { RATE_INTERVAL } from "../../../infra/observability/dashboards/promql.ts";
import type { Cell, Series } from "./panel-data.ts";

export interface RangeOfTime {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface PrometheusQuery extends RangeOfTime {
  /** Of the server. */
  readonly url: string;
  /** What stands for Grafana's `$__rate_interval`. */
  readonly rateInterval: string;
}

const STEPS = 120;

interface Found {
  readonly metric: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [number, string])[];
  readonly value?: readonly [number, string];
}

/** The series of a panel's queries over a range; without values that are no number, and without series that have none. */
export async function askRange(
  targets: readonly PrometheusTarget[],
  query: PrometheusQuery,
): Promise<Series[]> {
  const stepS = Math.max(1, Math.floor((query.toMs - query.fromMs) / 1e3 / STEPS));
  const asked = targets.map(async (target) => {
    const params = { start: String(query.fromMs / 1e3), end: String(query.toMs / 1e3), step: String(stepS) };
    const found = await ask("query_range", target, query, params);
    return found.map(({ metric, values = [] }) => ({
      name: legendOf(target.legendFormat, metric),
      points: values
        .map(([atS, value]) => [atS * 1e3, Number(value)] as const)
        .filter(([, value]) => Number.isFinite(value)),
    }));
  });
  return (await Promise.all(asked)).flat().filter(({ points }) => points.length > 0);
}

/** The values of a panel's queries at the end of the range. */
export async function askNow(
  targets: readonly PrometheusTarget[],
  query: PrometheusQuery,
): Promise<{ name: string; value: Cell }[]> {
  const asked = targets.map(async (target) => {
    const found = await ask("query", target, query, { time: String(query.toMs / 1e3) });
    return found.map(({ metric, value }) => {
      const number = Number(value?.[1]);
      return { name: legendOf(target.legendFormat, metric), value: Number.isFinite(number) ? number : null };
    });
  });
  return (await Promise.all(asked)).flat();
}

async function ask(
  call: "query" | "query_range",
  { expr }: PrometheusTarget,
  { url, rateInterval }: PrometheusQuery,
  more: Readonly<Record<string, string>>,
): Promise<readonly Found[]> {
  const body = new URLSearchParams({ query: expr.replaceAll(RATE_INTERVAL, rateInterval), ...more });
  const response = await fetch(`${url}/api/v1/${call}`, { method: "POST", body });
  if (!response.ok) throw new Error(`${expr}: ${await response.text()}`);
  const { data } = (await response.json()) as { data: { result: readonly Found[] } };
  return data.result;
}

function legendOf(format: string, labels: Readonly<Record<string, string>>): string {
  return format.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => labels[name] ?? "").trim();
}
