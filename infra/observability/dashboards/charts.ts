import type {
  ApiTarget,
  Column,
  Override,
  PanelType,
  PrometheusTarget,
  Target,
  TraceTarget,
} from "./panels.ts";

/** A panel without its place. */
export interface Chart {
  readonly type: Exclude<PanelType, "row">;
  readonly title: string;
  readonly description?: string;
  /** Grafana's name of a unit: `s`, `ms`, `bytes`, `ops`, `short`, `percentunit`; `none` of what is no number. */
  readonly unit: string;
  readonly source: "prometheus" | "api" | "tempo" | "none";
  readonly targets: readonly Target[];
  /** Above it the value is drawn red. */
  readonly limit?: number;
  readonly overrides?: readonly Override[];
  /** Of Grafana's 24 columns. */
  readonly width: number;
  readonly height?: number;
  readonly options?: Readonly<Record<string, unknown>>;
}

type Look = Pick<Chart, "title" | "unit" | "width"> &
  Partial<Pick<Chart, "description" | "limit" | "height" | "overrides">>;

/** @param series expressions of PromQL by the legend of their series */
export function lines(look: Look, series: Readonly<Record<string, string>>): Chart {
  return { ...look, type: "timeseries", source: "prometheus", targets: toTargets(series) };
}

/** Numbers of now. */
export function stat(look: Look, series: Readonly<Record<string, string>>): Chart {
  return { ...look, type: "stat", source: "prometheus", targets: toTargets(series) };
}

export interface ApiQuery {
  /** With its query, in which Grafana's variables may stand. */
  readonly path: string;
  readonly rows: string;
  /** Paths within a row, by the name that is shown. */
  readonly columns: Readonly<Record<string, string>>;
  /** Those of `columns` that are texts. */
  readonly texts?: readonly string[];
}

/** One row of an answer of the API. */
export function apiStat(look: Look, query: ApiQuery): Chart {
  return {
    ...look,
    type: "stat",
    source: "api",
    targets: [toApiTarget(query, "table")],
    options: ALL_FIELDS,
  };
}

/** The rows of an answer of the API. */
export function apiTable(look: Look, query: ApiQuery): Chart {
  return { ...look, type: "table", source: "api", targets: [toApiTarget(query, "table")] };
}

/** The points of an answer of the API, whose time is `at`. */
export function apiLines(look: Look, query: ApiQuery): Chart {
  return { ...look, type: "timeseries", source: "api", targets: [toApiTarget(query, "timeseries")] };
}

/** One trace, as a waterfall. */
export function trace(look: Omit<Look, "unit">, query: string): Chart {
  const target: TraceTarget = { refId: "A", queryType: "traceql", query };
  return { ...look, unit: "none", type: "traces", source: "tempo", targets: [target] };
}

/** The traces that a search in TraceQL finds. */
export function traceSearch(look: Omit<Look, "unit">, query: string): Chart {
  const target: TraceTarget = { refId: "A", queryType: "traceql", query, tableType: "traces", limit: 20 };
  return { ...look, unit: "none", type: "table", source: "tempo", targets: [target] };
}

export function words(look: Omit<Look, "unit">, content: string): Chart {
  return {
    ...look,
    unit: "none",
    type: "text",
    source: "none",
    targets: [],
    options: { mode: "markdown", content },
  };
}

/** Of a stat: each field of the row, not the last number alone. */
const ALL_FIELDS = { reduceOptions: { calcs: ["lastNotNull"], fields: "/.*/", values: false } };

function toTargets(series: Readonly<Record<string, string>>): PrometheusTarget[] {
  return Object.entries(series).map(([legendFormat, expr], index) => ({
    refId: String.fromCodePoint("A".codePointAt(0)! + index),
    expr,
    legendFormat,
  }));
}

function toApiTarget({ path, rows, columns, texts = [] }: ApiQuery, format: ApiTarget["format"]): ApiTarget {
  const listed = Object.entries(columns).map(([text, selector]): Column => ({
    selector,
    text,
    type: texts.includes(text) ? "string" : "number",
  }));
  const time: Column[] = format === "timeseries" ? [{ selector: "at", text: "Time", type: "timestamp" }] : [];
  return {
    refId: "A",
    type: "json",
    source: "url",
    parser: "backend",
    format,
    url: path,
    url_options: { method: "GET" },
    root_selector: rows,
    columns: [...time, ...listed],
  };
}
