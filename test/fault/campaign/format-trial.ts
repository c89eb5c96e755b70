import type { TrialResult } from "../trial/run-trial.ts";
import { formatMs } from "./format-table.ts";

/** What is said of a trial as soon as it is over: a line, and one for each thing that was wrong. */
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
