import type { Chart } from "./charts.ts";
import type { Dashboard, GridPos, Panel, Threshold, Variable } from "./panels.ts";

/** Chosen when a dashboard is opened. */
const DATASOURCES = {
  prometheus: { type: "prometheus", uid: "${datasource}" },
  api: { type: "yesoreyeram-infinity-datasource", uid: "${api}" },
  tempo: { type: "tempo", uid: "${tempo}" },
} as const;

export const PROMETHEUS: Variable = {
  name: "datasource",
  label: "Prometheus",
  type: "datasource",
  query: DATASOURCES.prometheus.type,
};
export const API: Variable = {
  name: "api",
  label: "Tenant",
  type: "datasource",
  query: DATASOURCES.api.type,
};
export const TEMPO: Variable = {
  name: "tempo",
  label: "Tempo",
  type: "datasource",
  query: DATASOURCES.tempo.type,
};

const COLUMNS = 24;
const ROW_HEIGHT = 1;

export interface Section {
  readonly title: string;
  readonly charts: readonly Chart[];
}

export interface DashboardHead extends Pick<Dashboard, "uid" | "title" | "description"> {
  readonly variables: readonly Variable[];
  /** Such as `now-1h`. */
  readonly from: string;
}

/** Lays sections out from top to bottom, and their charts from left to right. */
export function toDashboard(head: DashboardHead, sections: readonly Section[]): Dashboard {
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
  const { uid, title, description, variables, from } = head;
  return {
    uid,
    title,
    description,
    tags: ["reprise"],
    schemaVersion: 39,
    refresh: "30s",
    time: { from, to: "now" },
    templating: { list: variables },
    links: [{ title: "Reprise", type: "dashboards", tags: ["reprise"], asDropdown: true }],
    panels,
  };
}

function toPanel(chart: Chart, id: number, gridPos: GridPos): Panel {
  const { type, title, description, unit, source, targets, limit, overrides = [], options } = chart;
  const base = { id, type, title, ...(description !== undefined && { description }), gridPos };
  if (source === "none") return { ...base, ...(options && { options }) };
  const steps: Threshold[] = [{ color: "green", value: null }];
  if (limit !== undefined) steps.push({ color: "red", value: limit });
  return {
    ...base,
    datasource: DATASOURCES[source],
    targets,
    ...(options && { options }),
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: "absolute", steps } }, overrides },
  };
}
