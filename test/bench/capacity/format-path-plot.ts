import { dot, element, panel, path, type Point, scale, text, ticks } from "../scaling/svg.ts";
import type { PathStudy } from "./compare-paths.ts";
import { count } from "./format-plan.ts";

const PANEL = { width: 460, height: 320, left: 62, right: 24, top: 30, bottom: 80 };
const TOP = 30;
const [RED, BLUE, GREY] = ["#d62728", "#1f77b4", "#7f7f7f"];
/** The axes of milliseconds are logarithmic. */
const DECADES = [0.1, 1, 10, 100, 1_000, 10_000];

/** Latency over load, and over time through an election. */
export function formatPathPlot(study: PathStudy): string {
  const [width, height] = [2 * PANEL.width, TOP + PANEL.height];
  const panels = [panel(0, TOP, loadPanel(study)), panel(PANEL.width, TOP, electionPanel(study))];
  const title = text(12, 20, "A worker, a stream's leader and a node of delivery (simulated)", "start");
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const style = `font-family="sans-serif" font-size="11"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n<rect width="100%" height="100%" fill="white"/>\n${[title, ...panels].join("\n")}\n</svg>\n`;
}

function loadPanel({ points, full }: PathStudy): string[] {
  const most = Math.max(...points.map(({ generations }) => generations));
  const x = scale(0, most, PANEL.left, PANEL.width - PANEL.right);
  const y = axis(1_000);
  const line = (colour: string, of: (point: PathStudy["points"][number]) => number) => {
    const places = points.map((point): Point => [x(point.generations), y(of(point))]);
    return [path(places, colour), ...places.map((place) => dot(place, colour, 2.5))];
  };
  return [
    text(PANEL.left, 16, "ms from due to reader over generations at a time", "start"),
    ...grid(y, 1_000),
    ...ticks(most).map((generations) => below(x(generations), count(generations))),
    element("line", { x1: x(full), x2: x(full), y1: PANEL.top, y2: bottom(), stroke: GREY }),
    ...line(BLUE, ({ p50Ms }) => p50Ms),
    ...line(RED, ({ p99Ms }) => p99Ms),
    ...legend([
      [BLUE, "p50"],
      [RED, "p99"],
      [GREY, "full without coalescing"],
    ]),
  ];
}

function electionPanel({ election: { bins, lastsMs } }: PathStudy): string[] {
  const lastMs = bins.at(-1)?.atMs ?? 1;
  const x = scale(0, lastMs, PANEL.left, PANEL.width - PANEL.right);
  const y = axis(10_000);
  return [
    text(PANEL.left, 16, `ms of the latest token over seconds; no leader for ${lastsMs / 1e3} s`, "start"),
    ...grid(y, 10_000),
    ...ticks(lastMs / 1e3).map((seconds) => below(x(seconds * 1e3), `${seconds}`)),
    path(
      bins.map(({ atMs, latestMs }): Point => [x(atMs), y(latestMs)]),
      RED,
    ),
    ...legend([[RED, "the latest token that was due in 100 ms"]]),
  ];
}

function axis(mostMs: number): (ms: number) => number {
  const log = scale(Math.log(DECADES[0]!), Math.log(mostMs), bottom(), PANEL.top);
  return (ms) => log(Math.log(Math.min(mostMs, Math.max(DECADES[0]!, ms))));
}

function grid(y: (ms: number) => number, mostMs: number): string[] {
  const [x1, x2] = [PANEL.left, PANEL.width - PANEL.right];
  return DECADES.filter((ms) => ms <= mostMs).flatMap((ms) => [
    element("line", { x1, x2, y1: y(ms), y2: y(ms), stroke: "#dddddd" }),
    text(x1 - 6, y(ms) + 4, count(ms) === "1" && ms < 1 ? `${ms}` : count(ms), "end"),
  ]);
}

function legend(entries: readonly (readonly [colour: string, name: string])[]): string[] {
  return entries.flatMap(([colour, name], i) => {
    const [left, top] = [PANEL.left + 60 * i, PANEL.height - 30];
    return [dot([left, top - 4], colour, 4), text(left + 10, top, name, "start")];
  });
}

function below(x: number, label: string): string {
  return text(x, bottom() + 16, label, "middle");
}

function bottom(): number {
  return PANEL.height - PANEL.bottom;
}
