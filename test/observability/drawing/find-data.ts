import {
  type Dashboard,
  isPrometheusTarget,
  type Panel,
  type TraceTarget,
} from "../../../infra/observability/dashboards/panels.ts";
import { type ApiQuery, askApi, toSeries } from "./ask-api.ts";
import { askNow, askRange, type PrometheusQuery } from "./ask-prometheus.ts";
import type { PanelData } from "./panel-data.ts";
import { type DrawnSpan, traceOf } from "./spans.ts";

export interface Sources {
  readonly prometheus: PrometheusQuery;
  readonly api: ApiQuery;
  /** All that the collector has. */
  readonly spans: readonly DrawnSpan[];
}

/** What the queries of a dashboard's panels find, by the panel's id. */
export async function findData(
  dashboard: Dashboard,
  sources: Sources,
): Promise<ReadonlyMap<number, PanelData>> {
  const panels = dashboard.panels.filter(({ type }) => type !== "row");
  return new Map(
    await Promise.all(panels.map(async (panel) => [panel.id, await dataOf(panel, sources)] as const)),
  );
}

async function dataOf(panel: Panel, sources: Sources): Promise<PanelData> {
  const { type, targets = [], options } = panel;
  const fromPrometheus = targets.filter(isPrometheusTarget);
  if (type === "text")
    return { kind: "text", markdown: typeof options?.["content"] === "string" ? options["content"] : "" };
  if (fromPrometheus.length > 0)
    return type === "stat"
      ? { kind: "values", values: await askNow(fromPrometheus, sources.prometheus) }
      : { kind: "series", series: await askRange(fromPrometheus, sources.prometheus) };
  const [target] = targets;
  if (target === undefined || isPrometheusTarget(target)) throw new Error(`${panel.title}: has no query`);
  if (!("root_selector" in target)) return findSpans(panel, target, sources);
  const found = await askApi(target, sources.api);
  if (type === "timeseries") return { kind: "series", series: toSeries(found) };
  if (type === "table") return { kind: "table", ...found };
  const [row = []] = found.rows;
  return {
    kind: "values",
    values: found.columns.map((name, index) => ({ name, value: row[index] ?? null })),
  };
}

/** What Tempo would find: the trace of an id, or those whose spans name the generation. */
function findSpans({ type }: Panel, { query }: TraceTarget, { spans, api }: Sources): PanelData {
  const { trace = "", generation = "" } = api.variables;
  if (type === "traces") {
    const wanted = query.replace("${trace}", trace);
    return { kind: "spans", spans: spans.filter(({ traceId }) => traceId === wanted) };
  }
  const found = traceOf(spans, generation);
  const inTrace = spans.filter(({ traceId }) => traceId === found);
  const root = inTrace.toSorted((a, b) => a.beginMs - b.beginMs)[0];
  const rows = found === undefined ? [] : [[`${found.slice(0, 12)}…`, root?.name ?? "", inTrace.length]];
  return { kind: "table", columns: ["trace", "name", "spans"], rows };
}
