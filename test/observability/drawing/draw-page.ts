import type { Dashboard, Panel } from "../../../infra/observability/dashboards/panels.ts";
import { drawLineChart } from "./line-chart.ts";
import { escape } from "./markup.ts";
import { type Cell, hasData, type PanelData } from "./panel-data.ts";
import type { DrawnSpan } from "./spans.ts";
import { formatValue } from "./units.ts";
import { drawWaterfall } from "./waterfall.ts";

/** Of the page, in CSS pixels. */
export const PAGE_WIDTH = 1_440;
const MARGIN = 16;
const GAP = 8;
const COLUMN = (PAGE_WIDTH - 2 * MARGIN) / 24;
const UNIT = 34;
const HEAD = 34;
const PADDING = 12;
const TABLE_LINE = 26;

export interface PageOptions {
  /** What was found, by the panel's id. */
  readonly data: ReadonlyMap<number, PanelData>;
  readonly fromMs: number;
  readonly toMs: number;
  /** Said below the title. */
  readonly note: string;
}

/** A dashboard as a page of HTML, laid out as Grafana does. */
export function drawPage(dashboard: Dashboard, options: PageOptions): string {
  const bottom = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const panels = dashboard.panels.map((panel) => drawPanel(panel, options)).join("\n");
  return `<!doctype html><meta charset="utf-8"><title>${escape(dashboard.title)}</title><style>${STYLE}</style>
<header><h1>${escape(dashboard.title)}</h1><p>${escape(options.note)}</p></header>
<main style="height:${bottom * UNIT}px">${panels}</main>`;
}

/** One trace as a page of HTML. */
export function drawTracePage(spans: readonly DrawnSpan[], note: string): string {
  const [first] = spans;
  const title = `Trace ${first?.traceId ?? ""}`;
  const events = new Set(spans.flatMap((span) => span.events.map(({ name }) => name)));
  const waterfall = drawWaterfall(spans, { width: PAGE_WIDTH - 2 * MARGIN - 2 * PADDING - 2 });
  return `<!doctype html><meta charset="utf-8"><title>${escape(title)}</title><style>${STYLE}</style>
<header><h1>${escape(title)}</h1><p>${escape(note)} Diamonds are events of spans: ${escape([...events].join(", "))}.</p></header>
<main><section style="position:static">${waterfall}</section></main>`;
}

function drawPanel(panel: Panel, options: PageOptions): string {
  const { x, y, w, h } = panel.gridPos;
  const place = `left:${x * COLUMN}px;top:${y * UNIT}px;width:${w * COLUMN - GAP}px;height:${h * UNIT - GAP}px`;
  if (panel.type === "row") return `<h2 style="${place}">${escape(panel.title)}</h2>`;
  const data = options.data.get(panel.id);
  const size = { width: w * COLUMN - GAP - 2 * PADDING, height: h * UNIT - GAP - HEAD - PADDING };
  const hint =
    panel.description === undefined ? "" : `<small>${escape(panel.description.replaceAll("`", ""))}</small>`;
  const content =
    data === undefined || !hasData(data)
      ? `<p class="none">No data</p>`
      : drawData(panel, data, { ...options, ...size });
  return `<section style="${place}"><h3>${escape(panel.title)}${panel.type === "stat" ? "" : hint}</h3>${content}</section>`;
}

type Drawing = PageOptions & { readonly width: number; readonly height: number };

function drawData(panel: Panel, data: PanelData, options: Drawing): string {
  const defaults = panel.fieldConfig?.defaults;
  const unit = defaults?.unit ?? "none";
  const limit = defaults?.thresholds?.steps.find(({ color }) => color === "red")?.value ?? undefined;
  switch (data.kind) {
    case "series":
      return drawLineChart({ ...options, series: data.series, unit, limit });
    case "values":
      return `<dl>${data.values.map((value) => drawValue(value, unitOf(panel, value.name), limit)).join("")}</dl>`;
    case "table":
      return drawTable(panel, { ...data, rows: data.rows.slice(0, rowsIn(options.height)) });
    case "spans":
      return drawWaterfall(data.spans, options);
    case "text":
      return `<p class="text">${escape(data.markdown).replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>`;
  }
}

function drawValue(
  { name, value }: { name: string; value: Cell },
  unit: string,
  limit: number | undefined,
): string {
  const isOver = typeof value === "number" && limit !== undefined && value > limit;
  const colour = isOver ? "#c4162a" : "#1a7f37";
  return `<div><dd style="color:${colour}">${escape(formatCell(value, unit))}</dd><dt>${escape(name)}</dt></div>`;
}

/** How many rows have room below a table's head. */
function rowsIn(height: number): number {
  return Math.floor(height / TABLE_LINE) - 1;
}

function drawTable(
  panel: Panel,
  { columns, rows }: { columns: readonly string[]; rows: readonly (readonly Cell[])[] },
): string {
  const units = columns.map((column) => unitOf(panel, column));
  const head = columns.map((column) => `<th>${escape(column)}</th>`).join("");
  const body = rows.map((row) => {
    const cells = row.map((cell, i) => {
      const kind = typeof cell === "string" ? "" : ` class="number"`;
      return `<td${kind}>${escape(formatCell(cell, units[i] ?? "none"))}</td>`;
    });
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

/** Of a column, which may have one of its own. */
function unitOf({ fieldConfig }: Panel, column: string): string {
  const override = fieldConfig?.overrides.find(({ matcher }) => matcher.options === column);
  const own = override?.properties.find(({ id }) => id === "unit")?.value;
  return typeof own === "string" ? own : (fieldConfig?.defaults.unit ?? "none");
}

function formatCell(cell: Cell, unit: string): string {
  if (cell === null) return "–";
  return typeof cell === "string" ? cell : formatValue(cell, unit);
}

const STYLE = `
body{margin:0;background:#f0f1f5;font:13px/1.35 "DejaVu Sans",Arial,sans-serif;color:#1f1f24;width:${PAGE_WIDTH}px}
header{padding:14px ${MARGIN}px 4px}h1{font-size:20px;margin:0}header p{margin:4px 0 0;color:#6b6d76}
main{position:relative;margin:8px ${MARGIN}px ${MARGIN}px}
h2{position:absolute;margin:0;font-size:14px;line-height:30px}
section{position:absolute;box-sizing:border-box;background:#fff;border:1px solid #dcdde3;border-radius:4px;overflow:hidden;padding:0 ${PADDING}px}
h3{font-size:13px;margin:0;height:${HEAD - 2}px;line-height:${HEAD - 2}px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
small{font-weight:400;font-size:11px;color:#6b6d76;margin-left:8px}
dl{display:flex;margin:0;justify-content:space-around;gap:12px;text-align:center}dd{margin:6px 0 2px;font-size:23px;font-weight:600;white-space:nowrap}dt{color:#6b6d76;font-size:12px}
.table{overflow:hidden}table{border-collapse:collapse;width:100%;font-size:12px}th{text-align:left;color:#6b6d76;font-weight:600;border-bottom:1px solid #dcdde3}
td,th{padding:4px 6px;white-space:nowrap}td{border-bottom:1px solid #f0f1f5}.number{font-variant-numeric:tabular-nums}
.none{color:#8a8c95;text-align:center;margin-top:12px}.text{margin:4px 0}code{background:#f0f1f5;padding:1px 4px;border-radius:3px}
`;
