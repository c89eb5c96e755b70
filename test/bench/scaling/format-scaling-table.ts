import { type Comparison, quantile, WORKER } from "./compare-fleets.ts";

const HEADER = ["fleet", "worker hours", "slots busy", "wait p95", "first token p50", "first token p99"];

/** A table in Markdown for each trace. */
export function formatScalingTables(comparisons: readonly Comparison[]): string {
  return comparisons.map(formatTable).join("\n\n");
}

function formatTable({ trace, requests, load, fixed, planned }: Comparison): string {
  const caption = `Azure, ${trace}: ${requests.toLocaleString("en-US")} requests, ${load.mean.toFixed(1)} slots busy on average, ${load.peak.toFixed(1)} in the busiest minute.`;
  const rows = [...fixed, ...planned].map(({ name, run }) => [
    name,
    run.workerHours.toFixed(1),
    `${((100 * run.busySlotHours) / (run.workerHours * WORKER.slots)).toFixed(0)} %`,
    seconds(quantile(run.waitMs, 0.95)),
    seconds(quantile(run.firstTokenMs, 0.5)),
    seconds(quantile(run.firstTokenMs, 0.99)),
  ]);
  const lines = [HEADER, ["---", ...HEADER.slice(1).map(() => "--:")], ...rows];
  return `${caption}\n\n${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}`;
}

function seconds(ms: number): string {
  return `${(ms / 1e3).toFixed(2)} s`;
}
