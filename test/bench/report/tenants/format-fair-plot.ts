import type { FairResult, FairRow } from "../../scenarios/tenants/fair.ts";

const WIDTH = 800;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 20;
const TOP = 70;
const BOTTOM = 50;
/** The axis of milliseconds is logarithmic. */
const LEAST_MS = 1;
const MOST_MS = 100_000;
const COLOURS = ["#1f77b4", "#2ca02c", "#d62728", "#9467bd"];

/** Each request as a dot: when it was due, and when its first token came. */
export function formatFairPlot({ rows, slots, backlogSeconds }: FairResult): string {
  const dues = rows.flatMap(({ quiet }) => (quiet.firstTokens ?? []).map(({ dueMs }) => dueMs));
  const mostDueMs = Math.max(1, ...dues);
  const x = (dueMs: number) => LEFT + (dueMs / mostDueMs) * (WIDTH - LEFT - RIGHT);
  const y = (afterMs: number) => {
    const part = Math.log(Math.max(LEAST_MS, afterMs) / LEAST_MS) / Math.log(MOST_MS / LEAST_MS);
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
  };
  const dots = rows.flatMap(({ quiet }, i) =>
    (quiet.firstTokens ?? []).map(({ dueMs, afterMs }) =>
      element("circle", { cx: x(dueMs), cy: y(afterMs), r: 2.5, fill: COLOURS[i % COLOURS.length]! }),
    ),
  );
  const lines = [1, 10, 100, 1_000, 10_000, 100_000].flatMap((ms) => [
    element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(ms), y2: y(ms), stroke: "#dddddd" }),
    text(LEFT - 8, y(ms) + 4, `${ms} ms`, "end"),
  ]);
  const seconds = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const dueMs = part * mostDueMs;
    return text(x(dueMs), HEIGHT - BOTTOM + 20, `${Math.round(dueMs / 1e3)} s`, "middle");
  });
  const names = rows.flatMap((row, i) => [
    element("circle", { cx: LEFT + 6 + i * 235, cy: 44, r: 5, fill: COLOURS[i % COLOURS.length]! }),
    text(LEFT + 16 + i * 235, 48, nameOf(row), "start"),
  ]);
  const title = `Time to first token of one tenant, ${slots} slots, beside another tenant's queue of generations of ${backlogSeconds} s`;
  const axis = text(WIDTH / 2, HEIGHT - 10, "when the request was due", "middle");
  const parts = [...lines, ...seconds, ...dots, ...names, text(LEFT, 22, title, "start"), axis];
  const size = `width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}"`;
  const style = `font-family="sans-serif" font-size="12"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n<rect width="100%" height="100%" fill="white"/>\n${parts.join("\n")}\n</svg>\n`;
}

function nameOf({ reserve, backlog }: FairRow): string {
  return backlog === 0 ? "alone" : `beside ${backlog}, reserve ${reserve}`;
}

function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end"): string {
  return element("text", { x, y, "text-anchor": anchor }, content);
}

function element(name: string, attributes: Readonly<Record<string, string | number>>, content = ""): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => `${key}="${typeof value === "number" ? Math.round(value * 10) / 10 : value}"`,
  );
  return `<${name} ${list.join(" ")}>${content}</${name}>`;
}
