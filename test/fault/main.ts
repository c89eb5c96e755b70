import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { formatMs, formatTable, formatViolations } from "./campaign/format-table.ts";
import { type CampaignOptions, parseCampaignOptions, USAGE } from "./campaign/options.ts";
import { type RowResult, toRowResult } from "./campaign/row-result.ts";
import { runRow } from "./campaign/run-row.ts";
import { WorldPool } from "./campaign/world-pool.ts";
import { writeReport } from "./campaign/write-report.ts";
import type { TrialResult } from "./trial/run-trial.ts";

/* `npm run test:fault`: tries every fault, and exits with 1 when an invariant did not hold. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SHORT_TRIALS = 2;

let options: CampaignOptions | undefined;
try {
  options = parseCampaignOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options) await run(options);

/** A first Ctrl-C ends after the trial that runs, with a report of those that were done. */
async function run({ rows, trials, seed, out }: CampaignOptions): Promise<void> {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => abort.abort());
  const file = resolve(
    out ?? join(ROOT, ".reprise/fault", `${new Date().toISOString().replaceAll(":", "-")}.json`),
  );
  const results: RowResult[] = [];
  let written: readonly string[] = [];
  await using worlds = new WorldPool();
  for (const row of rows) {
    if (abort.signal.aborted) break;
    console.log(`\n${row.name}: ${row.about}`);
    const startedAt = performance.now();
    const done = await runRow(row, {
      worlds,
      trials: trials ?? row.shortTrials ?? SHORT_TRIALS,
      seed,
      onTrial: printTrial,
      signal: abort.signal,
    });
    results.push(toRowResult(row, done, (performance.now() - startedAt) / 1_000));
    // After each row: a campaign may last for hours, and something may end it.
    written = await writeReport(file, { seed, results });
  }
  const violations = formatViolations(results);
  console.log(`\n${formatTable(results)}\n\n${violations || "No violations."}\n\n${written.join("\n")}`);
  if (violations !== "") process.exitCode = 1;
}

function printTrial({ seed, violations, recoveriesMs, shown, complaints }: TrialResult): void {
  const slowest = recoveriesMs.length > 0 ? `, slowest recovery ${formatMs(Math.max(...recoveriesMs))}` : "";
  console.log(`  seed ${seed}: ${shown} events shown${slowest}, ${violations.length} violation(s)`);
  for (const { kind, what } of violations) console.log(`    ${kind}: ${what}`);
  for (const line of complaints) console.log(`    ${line}`);
}
