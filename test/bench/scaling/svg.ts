export type Point = readonly [x: number, y: number];

/** Round numbers from 0 to the most, about five. */
export function ticks(most: number): number[] {
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => round(i * step));
}

export function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  return (value) => start + ((value - from) / Math.max(Number.EPSILON, to - from)) * (end - start);
}

export function panel(x: number, y: number, parts: readonly string[]): string {
  return `<g transform="translate(${x} ${y})">${parts.join("\n")}</g>`;
}

export function dot([cx, cy]: Point, fill: string, r: number): string {
  return element("circle", { cx, cy, r, fill });
}

export function path(points: readonly Point[], stroke: string): string {
  const list = points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
  return element("polyline", { points: list, fill: "none", stroke, "stroke-width": 1.5 });
}

export function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end"): string {
  return element("text", { x, y, "text-anchor": anchor }, content);
}

export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content = "",
): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => `${key}="${typeof value === "number" ? round(value) : value}"`,
  );
  return `<${name} ${list.join(" ")}>${content}</${name}>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
