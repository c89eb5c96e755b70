/** The part of Grafana's model of a dashboard that is used here. */

export interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
}

export interface GridPos {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export type PanelType = "timeseries" | "stat" | "row";

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
    readonly overrides: readonly never[];
  };
  readonly datasource?: typeof DATASOURCE;
}

export interface Threshold {
  readonly color: string;
  readonly value: number | null;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly schemaVersion: number;
  readonly refresh: string;
  readonly time: { readonly from: string; readonly to: string };
  readonly templating: { readonly list: readonly object[] };
  readonly panels: readonly Panel[];
}

/** Chosen when the dashboard is opened. */
const DATASOURCE = { type: "prometheus", uid: "${datasource}" } as const;

const COLUMNS = 24;
const ROW_HEIGHT = 1;

/** A panel without its place. */
export interface Chart {
  readonly type: Exclude<PanelType, "row">;
  readonly title: string;
  readonly description?: string;
  /** Grafana's name of a unit: `s`, `bytes`, `ops`, `short`, `percentunit`. */
  readonly unit: string;
  /** Expressions by the legend of their series. */
  readonly series: Readonly<Record<string, string>>;
  /** Above it the value is drawn red. */
  readonly limit?: number;
  readonly width: number;
  readonly height?: number;
}

export interface Section {
  readonly title: string;
  readonly charts: readonly Chart[];
}

/** Lays sections out from top to bottom, and their charts from left to right. */
export function toDashboard(
  { uid, title }: Pick<Dashboard, "uid" | "title">,
  sections: readonly Section[],
): Dashboard {
  const panels: Panel[] = [];
  let y = 0;
  for (const section of sections) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title: section.title,
      gridPos: { x: 0, y, w: COLUMNS, h: ROW_HEIGHT },
    });
    y += ROW_HEIGHT;
    let x = 0;
    let lineHeight = 0;
    for (const chart of section.charts) {
      const { width: w, height: h = 8 } = chart;
      if (x + w > COLUMNS) {
        x = 0;
        y += lineHeight;
        lineHeight = 0;
      }
      panels.push(toPanel(chart, panels.length + 1, { x, y, w, h }));
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return {
    uid,
    title,
    tags: ["reprise"],
    schemaVersion: 39,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus" }] },
    panels,
  };
}

function toPanel(
  { type, title, description, unit, series, limit }: Chart,
  id: number,
  gridPos: GridPos,
): Panel {
  const targets = Object.entries(series).map(([legendFormat, expr], index) => ({
    refId: String.fromCodePoint("A".codePointAt(0)! + index),
    expr,
    legendFormat,
  }));
  const steps: Threshold[] = [{ color: "green", value: null }];
  if (limit !== undefined) steps.push({ color: "red", value: limit });
  return {
    id,
    type,
    title,
    ...(description !== undefined && { description }),
    gridPos,
    datasource: DATASOURCE,
    targets,
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: "absolute", steps } }, overrides: [] },
  };
}
