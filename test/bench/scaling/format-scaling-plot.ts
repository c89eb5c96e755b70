import { type Comparison, quantile } from "./compare-fleets.ts";
import type { FleetRun } from "./simulate-fleet.ts";
import { dot, element, panel, path, type Point, scale, text, ticks } from "./svg.ts";

const PANEL = { width: 460, height: 320, left: 62, right: 24, top: 30, bottom: 100 };
const TOP = 30;
/** The axis of milliseconds is logarithmic. */
const MS = { least: 100, most: 300_000 };
const FIXED = "#7f7f7f";
const COLOURS = ["#d62728", "#ff7f0e", "#2ca02c", "#1f77b4"];

/** A row for each trace: cost and first token of each fleet, and the size of the planned one over time. */
export function formatScalingPlot(comparisons: readonly Comparison[]): string {
  const [width, height] = [2 * PANEL.width, TOP + comparisons.length * PANEL.height];
  const rows = comparisons.flatMap((comparison, i) => {
    const y = TOP + i * PANEL.height;
    return [panel(0, y, costPanel(comparison)), panel(PANEL.width, y, sizePanel(comparison))];
  });
  const title = text(12, 20, "Fixed fleets and planned ones, on Azure's traces (simulated)", "start");
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const style = `font-family="sans-serif" font-size="11"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n<rect width="100%" height="100%" fill="white"/>\n${[title, ...rows].join("\n")}\n</svg>\n`;
}

function costPanel({ trace, curve, planned }: Comparison): string[] {
  const most = Math.ceil(
    Math.max(...[...curve, ...planned.map(({ run }) => run)].map((run) => run.workerHours)),
  );
  const x = scale(0, most, PANEL.left, PANEL.width - PANEL.right);
  const log = scale(Math.log(MS.least), Math.log(MS.most), PANEL.height - PANEL.bottom, PANEL.top);
  const y = (ms: number) => log(Math.log(Math.min(MS.most, Math.max(MS.least, ms))));
  const legend = planned.map(({ name }, i) => ({ name, colour: COLOURS[i % COLOURS.length]! }));
  const place = (run: FleetRun): Point => [x(run.workerHours), y(quantile(run.firstTokenMs, 0.99))];
  return [
    text(PANEL.left, 16, `${trace}: first token p99 over cost`, "start"),
    ...[100, 1_000, 10_000, 100_000].flatMap((ms) => grid(y(ms), ms < 1_000 ? `${ms} ms` : `${ms / 1e3} s`)),
    ...ticks(most).map((hours) => below(x(hours), `${hours}`)),
    text(PANEL.width / 2, PANEL.height - PANEL.bottom + 32, "worker hours", "middle"),
    path(curve.map(place), FIXED),
    ...curve.map((run) => dot(place(run), FIXED, 2)),
    ...planned.map(({ run }, i) => dot(place(run), COLOURS[i % COLOURS.length]!, 5)),
    ...[{ name: "fixed fleets", colour: FIXED }, ...legend].flatMap(({ name, colour }, i) => {
      const [left, top] = [
        PANEL.left + 230 * (i % 2),
        PANEL.height - PANEL.bottom + 52 + 14 * Math.floor(i / 2),
      ];
      return [dot([left, top - 4], colour, 4), text(left + 10, top, name, "start")];
    }),
  ];
}

function sizePanel({ planned: [{ name, run }] }: Comparison): string[] {
  const lastMs = run.sizes.at(-1)?.atMs ?? 1;
  const most = Math.max(...run.sizes.map(({ workers }) => workers));
  const x = scale(0, lastMs, PANEL.left, PANEL.width - PANEL.right);
  const y = scale(0, most, PANEL.height - PANEL.bottom, PANEL.top);
  const steps = run.sizes.flatMap(({ atMs, workers }, i): Point[] => {
    const earlier = run.sizes[i - 1];
    if (earlier?.workers === workers) return [];
    return [...(earlier ? [[x(atMs), y(earlier.workers)] as const] : []), [x(atMs), y(workers)]];
  });
  const end: Point = [x(lastMs), y(run.sizes.at(-1)?.workers ?? 0)];
  return [
    text(PANEL.left, 16, `workers over time: ${name}`, "start"),
    ...ticks(most).flatMap((workers) => grid(y(workers), `${workers}`)),
    ...ticks(lastMs / 60e3).map((minutes) => below(x(minutes * 60e3), `${minutes}`)),
    text(PANEL.width / 2, PANEL.height - PANEL.bottom + 32, "minutes", "middle"),
    path([...steps, end], COLOURS[0]!),
  ];
}

function below(x: number, label: string): string {
  return text(x, PANEL.height - PANEL.bottom + 16, label, "middle");
}

function grid(y: number, label: string): string[] {
  const [x1, x2] = [PANEL.left, PANEL.width - PANEL.right];
  return [element("line", { x1, x2, y1: y, y2: y, stroke: "#dddddd" }), text(x1 - 6, y + 4, label, "end")];
}
