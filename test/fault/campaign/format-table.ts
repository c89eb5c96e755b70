import type { TrialResult } from "../trial/run-trial.ts";
import { type RowResult, toRecovery } from "./row-result.ts";

const HEADER = [
  "row",
  "trials",
  "violations",
  "hits",
  "fewest",
  "events stored",
  "events shown",
  "recovery p50",
  "p99",
  "max",
  "s/trial",
];

const PAGE_HEADER = "| row | what happens; until when | fewest | p50 | p99 | max |";
/** The text for a row in which nothing has to recover. */
const NO_TIMES = ["–", "–", "–"];

/** The results as a table of Markdown, which reads as well on a terminal. */
export function formatTable(results: readonly RowResult[]): string {
  const rows = results.map(({ row, trials, violations, hits, stored, shown, recoveriesMs, seconds }) => [
    row,
    String(trials),
    String(violations.length),
    count(hits.all),
    count(hits.fewest),
    count(stored),
    count(shown),
    ...times(recoveriesMs),
    (seconds / trials).toFixed(1),
  ]);
  const widths = HEADER.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(HEADER), rule, ...rows.map(line)].join("\n");
}

/** The sum of all rows, in one sentence. */
export function formatSum(results: readonly RowResult[]): string {
  const sum = (of: (result: RowResult) => number) =>
    count(results.reduce((total, result) => total + of(result), 0));
  const shown = `${sum(({ shown: each }) => each)} shown to readers and compared byte for byte`;
  const hits = `${sum(({ hits: { all } }) => all)} hits`;
  const found = `${sum(({ violations }) => violations.length)} violations`;
  return `${sum(({ trials }) => trials)} trials, ${sum(({ stored }) => stored)} events stored, ${shown}, ${hits}: ${found}.`;
}

/** The table of `docs/faults.md`: what was done, and recovery in milliseconds. Trials and violations are in the sum. */
export function formatPage(results: readonly RowResult[]): string {
  const rows = results.map(({ row, about, hits, recoveriesMs }) => {
    const recovery = toRecovery(recoveriesMs);
    const ms = recovery
      ? [recovery.p50, recovery.p99, recovery.max].map((time) => count(Math.round(time)))
      : NO_TIMES;
    const what = about[0]!.toUpperCase() + about.slice(1);
    return `| \`${row}\` | ${[what, count(hits.fewest), ...ms].join(" | ")} |`;
  });
  return [PAGE_HEADER, "|---|---|--:|--:|--:|--:|", ...rows].join("\n");
}

/** Every violation, with what it takes to see it again. */
export function formatViolations(results: readonly RowResult[]): string {
  return results
    .flatMap(({ row, violations }) =>
      violations.map(({ kind, what, seed }) => `${row}, seed ${seed}: ${kind}: ${what}`),
    )
    .join("\n");
}

export function formatMs(ms: number): string {
  return ms < 100
    ? `${ms.toFixed(1)} ms`
    : ms < 10_000
      ? `${Math.round(ms)} ms`
      : `${(ms / 1_000).toFixed(1)} s`;
}

function times(recoveriesMs: readonly number[]): readonly string[] {
  const recovery = toRecovery(recoveriesMs);
  if (!recovery) return NO_TIMES;
  return [recovery.p50, recovery.p99, recovery.max].map(formatMs);
}

function count(value: number): string {
  return value.toLocaleString("en");
}

/** The report of a trial: a line, and one for each thing that was wrong. */
export function formatTrial(row: string, result: TrialResult): string {
  const { seed, ms, hits, violations, recoveriesMs, shown, complaints } = result;
  const slowest = recoveriesMs.length > 0 ? `, slowest recovery ${formatMs(Math.max(...recoveriesMs))}` : "";
  const took = `${(ms / 1_000).toFixed(1)} s`;
  return [
    `  ${row}, seed ${seed}, ${took}: ${hits} hit(s), ${shown} events shown${slowest}, ${violations.length} violation(s)`,
    ...violations.map(({ kind, what }) => `    ${kind}: ${what}`),
    ...complaints.map((line) => `    ${line}`),
  ].join("\n");
}
