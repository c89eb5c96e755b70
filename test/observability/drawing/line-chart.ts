import { colourOf, element, escape, type Size } from "./markup.ts";
import type { Series } from "./panel-data.ts";
import { formatValue } from "./units.ts";

const LEFT = 62;
const RIGHT = 14;
const TOP = 8;
const BOTTOM = 20;
const TICKS = 4;
/** Below it five times do not fit side by side. */
const NARROW = 440;
const LEGEND_LINE = 16;
/** The width of a letter of the legend. */
const LETTER = 6.2;

export interface LineChart extends Size {
  readonly series: readonly Series[];
  readonly unit: string;
  readonly limit?: number | undefined;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Lines over time, with a dot for each point where there are few, and a legend below. */
export function drawLineChart({ series, unit, limit, fromMs, toMs, width, height }: LineChart): string {
  const legendLines = countLines(series, width);
  const bottom = height - BOTTOM - legendLines * LEGEND_LINE;
  const most = niceCeiling(
    Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value)), 0),
    unit,
  );
  // A point that stands for a minute can lie before the range.
  const beginMs = Math.min(fromMs, ...series.flatMap(({ points }) => points.map(([atMs]) => atMs)));
  const x = (atMs: number) => LEFT + ((atMs - beginMs) / (toMs - beginMs)) * (width - LEFT - RIGHT);
  const y = (value: number) => bottom - (value / most) * (bottom - TOP);
  const grid = Array.from({ length: TICKS + 1 }, (_, tick) => {
    const value = (most * tick) / TICKS;
    const line = { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), stroke: "#e3e3e8" };
    return element("line", line) + label(LEFT - 6, y(value) + 4, formatValue(value, unit), "end");
  });
  const times = (width < NARROW ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((part) => {
    const atMs = beginMs + part * (toMs - beginMs);
    return label(x(atMs), bottom + 15, new Date(atMs).toISOString().slice(11, 19), anchorOf(part));
  });
  const lines = series.map(({ points }, index) => {
    const places = points.map(([atMs, value]) => [x(atMs), y(value)] as const);
    const path = places
      .map(([px, py], i) => `${i === 0 ? "M" : "L"}${px.toFixed(1)} ${py.toFixed(1)}`)
      .join("");
    const dots = points.length > 30 ? [] : places;
    return [
      element("path", { d: path, fill: "none", stroke: colourOf(index), "stroke-width": 1.8 }),
      ...dots.map(([cx, cy]) => element("circle", { cx, cy, r: 2.6, fill: colourOf(index) })),
    ].join("");
  });
  const border =
    limit !== undefined && limit <= most
      ? element("line", {
          x1: LEFT,
          x2: width - RIGHT,
          y1: y(limit),
          y2: y(limit),
          stroke: "#c4162a",
          "stroke-dasharray": "5 4",
        })
      : "";
  const legend = drawLegend(series, width, bottom + BOTTOM + 12);
  const content = [...grid, ...times, border, ...lines, legend].join("");
  return element(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, xmlns: "http://www.w3.org/2000/svg" },
    content,
  );
}

const nameOf = (name: string) => (name.length > 42 ? `${name.slice(0, 41)}…` : name);
const widthOf = (name: string) => nameOf(name).length * LETTER + 30;

function drawLegend(series: readonly Series[], width: number, top: number): string {
  let x = LEFT - 40;
  let y = top;
  return series
    .map(({ name }, index) => {
      if (x + widthOf(name) > width && x > LEFT - 40) {
        x = LEFT - 40;
        y += LEGEND_LINE;
      }
      const mark = element("rect", { x, y: y - 7, width: 12, height: 4, rx: 2, fill: colourOf(index) });
      const text = label(x + 17, y, nameOf(name), "start");
      x += widthOf(name);
      return mark + text;
    })
    .join("");
}

function countLines(series: readonly Series[], width: number): number {
  let x = LEFT - 40;
  let lines = 1;
  for (const { name } of series) {
    if (x + widthOf(name) > width && x > LEFT - 40) {
      x = LEFT - 40;
      lines++;
    }
    x += widthOf(name);
  }
  return lines;
}

function label(x: number, y: number, content: string, anchor: string): string {
  return element("text", { x, y, "text-anchor": anchor, "font-size": 11, fill: "#44464f" }, escape(content));
}

function anchorOf(part: number): string {
  if (part === 0) return "start";
  return part === 1 ? "end" : "middle";
}

/** Four times a number that reads well in the unit. */
function niceCeiling(value: number, unit: string): number {
  if (value <= 0) return 1;
  const base = unit === "bytes" ? 1_024 ** Math.floor(Math.log(value) / Math.log(1_024)) : 1;
  const power = 10 ** Math.floor(Math.log10(value / base));
  const factor = [1, 2, 4, 6, 8, 10].find((candidate) => candidate * power * base >= value) ?? 20;
  return factor * power * base;
}
