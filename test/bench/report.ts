import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MachineFacts } from "./measure/machine.ts";
import type { BenchOptions } from "./options.ts";
import type { ScenarioResult } from "./scenarios/run.ts";

export interface Report {
  readonly startedAt: string;
  readonly machine: MachineFacts;
  readonly options: BenchOptions;
  /** Why targets that were asked for did not run. */
  readonly notes: readonly string[];
  readonly results: readonly ScenarioResult[];
}

/** Writes the results for programs. Returns the path; by default a new file in the data folder's `bench`. */
export async function writeReport(
  report: Report,
  { out, dataDir }: { out: string | undefined; dataDir: string },
): Promise<string> {
  const path = out ?? join(dataDir, "bench", `${report.startedAt.replaceAll(":", "-")}.json`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`);
  return path;
}

/**
 * Formats a result as a table. Columns are the fields of its rows. Fields in microseconds become milliseconds, those in bytes megabytes;
 * percentiles are shown as p50 / p99 / max, and figures by process as a sum.
 */
export function formatResult({ scenario, what, rows }: ScenarioResult): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => {
    const values = row as Readonly<Record<string, unknown>>;
    return columns.map((column) => formatCell(values[column], divisorOf(column)));
  });
  const header = columns.map((column) => column.replace(/Micros$/, "Ms").replace(/Bytes/, "MB"));
  const widths = header.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]!.length)));
  const lines = [header, ...cells].map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[i]!))).join("  "),
  );
  return [`${scenario}: ${what}`, ...lines.map((line) => `  ${line.trimEnd()}`)].join("\n");
}

function divisorOf(column: string): number {
  if (column.endsWith("Micros")) return 1e3;
  return /Bytes/.test(column) ? 1e6 : 1;
}

function formatCell(value: unknown, divisor: number): string {
  if (typeof value === "number") return formatNumber(value / divisor);
  if (typeof value === "string" || typeof value === "boolean") return `${value}`;
  if (typeof value !== "object" || value === null) return "";
  const figures = value as Readonly<Record<string, number>>;
  if (figures["p99"] !== undefined)
    return ["p50", "p99", "max"].map((name) => formatNumber(figures[name]! / divisor)).join(" / ");
  return Object.entries(figures)
    .map(([name, figure]) => `${name} ${formatNumber(figure / divisor)}`)
    .join(" + ");
}

function formatNumber(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}
