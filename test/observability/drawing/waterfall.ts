import { colourOf, element, escape, type Size } from "./markup.ts";
import { type DrawnSpan, inTree } from "./spans.ts";
import { formatValue } from "./units.ts";

const NAMES = 380;
const RIGHT = 90;
const TOP = 26;
const WATERFALL_LINE = 26;

/** One trace: a bar for each span, below its parent's, with its events as diamonds. */
export function drawWaterfall(spans: readonly DrawnSpan[], { width }: Pick<Size, "width">): string {
  const tree = inTree(spans);
  const height = TOP + tree.length * WATERFALL_LINE + 10;
  const beginMs = Math.min(...spans.map((span) => span.beginMs));
  const endMs = Math.max(...spans.map((span) => span.endMs), beginMs + 1);
  const services = [...new Set(tree.map(({ span }) => span.service))];
  const x = (atMs: number) => NAMES + ((atMs - beginMs) / (endMs - beginMs)) * (width - NAMES - RIGHT);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = beginMs + part * (endMs - beginMs);
    const line = element("line", { x1: x(at), x2: x(at), y1: TOP, y2: height - 8, stroke: "#e3e3e8" });
    return line + text(x(at), 16, formatValue(at - beginMs, "ms"), { "text-anchor": "middle" });
  });
  const lines = tree.map(({ span, depth }, index) => {
    const y = TOP + index * WATERFALL_LINE;
    const middle = y + WATERFALL_LINE / 2;
    const colour = span.isError ? "#c4162a" : colourOf(services.indexOf(span.service));
    const barWidth = Math.max(2, x(span.endMs) - x(span.beginMs));
    const took = formatValue(span.endMs - span.beginMs, "ms");
    return [
      element("rect", { x: 10 + depth * 18, y: middle - 5, width: 4, height: 11, fill: colour }),
      text(20 + depth * 18, middle + 4, span.name, { "font-weight": 600 }),
      text(NAMES - 14, middle + 4, span.service.replace(/^reprise-/, ""), {
        "text-anchor": "end",
        fill: "#6b6d76",
      }),
      element("rect", {
        x: x(span.beginMs),
        y: middle - 6,
        width: barWidth,
        height: 12,
        rx: 2,
        fill: colour,
      }),
      ...span.events.map(({ atMs }) => diamond(x(atMs), middle)),
      text(x(span.beginMs) + barWidth + 6, middle + 4, took, {}),
    ].join("");
  });
  const stripes = tree.map((_, index) =>
    element("rect", {
      x: 0,
      y: TOP + index * WATERFALL_LINE,
      width,
      height: WATERFALL_LINE,
      fill: index % 2 === 0 ? "#f7f7fa" : "#ffffff",
    }),
  );
  const content = [...stripes, ...ticks, ...lines].join("");
  return element(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, xmlns: "http://www.w3.org/2000/svg" },
    content,
  );
}

function diamond(x: number, y: number): string {
  return element("path", {
    d: `M${x.toFixed(1)} ${y - 7}l6 7l-6 7l-6 -7z`,
    fill: "#ffffff",
    stroke: "#1f1f24",
    "stroke-width": 1.4,
  });
}

function text(
  x: number,
  y: number,
  content: string,
  more: Readonly<Record<string, string | number>>,
): string {
  return element("text", { x, y, "font-size": 12, fill: "#1f1f24", ...more }, escape(content));
}
