/** The part of Grafana's model of a dashboard that is used here. */

/** A query of Prometheus. */
export interface PrometheusTarget {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
}

/** A call of the platform's own API, by Grafana's Infinity data source, whose parser is JSONata. */
export interface ApiTarget {
  readonly refId: string;
  readonly type: "json";
  readonly source: "url";
  readonly parser: "backend";
  readonly format: "table" | "timeseries";
  /** Behind the base URL of the data source. */
  readonly url: string;
  readonly url_options: { readonly method: "GET" };
  /** Where the list of rows is in the answer, such as `data[0].points`. */
  readonly root_selector: string;
  readonly columns: readonly Column[];
}

/** A search for traces, or one trace by its id, in Tempo. */
export interface TraceTarget {
  readonly refId: string;
  readonly queryType: "traceql";
  readonly query: string;
  readonly tableType?: "traces";
  readonly limit?: number;
}

export type Target = PrometheusTarget | ApiTarget | TraceTarget;

export interface Column {
  /** A path within a row. */
  readonly selector: string;
  readonly text: string;
  readonly type: "number" | "string" | "timestamp";
}

export interface GridPos {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export type PanelType = "timeseries" | "stat" | "table" | "traces" | "text" | "row";

export interface Panel {
  readonly id: number;
  readonly type: PanelType;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: GridPos;
  readonly targets?: readonly Target[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string;
      readonly min?: number;
      readonly thresholds?: { readonly mode: "absolute"; readonly steps: readonly Threshold[] };
    };
    readonly overrides: readonly Override[];
  };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly datasource?: { readonly type: string; readonly uid: string };
}

/** What a column has that others of its panel have not. */
export interface Override {
  readonly matcher: { readonly id: "byName"; readonly options: string };
  readonly properties: readonly { readonly id: string; readonly value: unknown }[];
}

export interface Threshold {
  readonly color: string;
  readonly value: number | null;
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  readonly type: "datasource" | "textbox" | "custom";
  readonly query: string;
  readonly current?: { readonly text: string; readonly value: string };
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schemaVersion: number;
  readonly refresh: string;
  readonly time: { readonly from: string; readonly to: string };
  readonly templating: { readonly list: readonly Variable[] };
  readonly links: readonly object[];
  readonly panels: readonly Panel[];
}

export function isPrometheusTarget(target: Target): target is PrometheusTarget {
  return "expr" in target;
}
