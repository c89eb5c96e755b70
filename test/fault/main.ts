import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  formatPage,
  formatSum,
  formatTable,
  formatTrial,
  formatViolations,
} from "./campaign/format-table.ts";
import { type CampaignOptions, parseCampaignOptions, USAGE } from "./campaign/options.ts";
import { type RowResult, toRowResult } from "./campaign/row-result.ts";
import { runRow, WorldPool } from "./campaign/run-row.ts";

/* `npm run test:fault`: tries every fault, and exits with 1 on a violation or a missing trial. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SHORT_TRIALS = 2;

const args = process.argv.slice(2);
const isAsked = args.includes("--help");
let options: CampaignOptions | undefined;
try {
  if (isAsked) console.log(USAGE);
  else options = parseCampaignOptions(args);
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options) await run(options);

/** A first Ctrl-C lets the current trials end, and reports those that are complete. */
async function run({ rows, trials, seed, out }: CampaignOptions): Promise<void> {
  const abort = new AbortController();
  const { signal } = abort;
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => abort.abort());
  const file = resolve(
    out ??
      join(ROOT, ".reprise/fault", `${new Date().toISOString().replaceAll(":", "-")}-${process.pid}.json`),
  );
  const results: RowResult[] = [];
  let isWhole = true;
  await using worlds = new WorldPool();
  for (const row of rows) {
    const wanted = trials ?? row.shortTrials ?? SHORT_TRIALS;
    const startedAt = performance.now();
    const onTrial = (trial: Parameters<typeof formatTrial>[1]) => console.log(formatTrial(row.name, trial));
    const done = await runRow(row, { worlds, trials: wanted, seed, onTrial, signal });
    isWhole &&= done.length === wanted;
    if (done.length === 0) continue;
    results.push(toRowResult(row, done, (performance.now() - startedAt) / 1_000));
    // After each row: a campaign may last for hours, and its process may be killed.
    await writeReport(file, seed, results);
  }
  const violations = formatViolations(results);
  console.log(`\n${formatTable(results)}\n\n${violations || "No violations."}\n\n${file}`);
  if (!isWhole) console.log("The campaign was ended early.");
  if (!isWhole || violations !== "") process.exitCode = 1;
}

/** Writes the results as JSON, and as a Markdown page under the same name, with the table of `docs/faults.md`. */
async function writeReport(file: string, seed: number, results: readonly RowResult[]): Promise<void> {
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  const report = { at: new Date().toISOString(), seed, machine, results };
  const proofs = results.map(({ row, proof }) => `* \`${row}\`: the fault hits where ${proof}.`).join("\n");
  const parts = [
    `Seed ${seed}; ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}.`,
    formatSum(results),
    formatPage(results),
    formatTable(results),
    proofs,
    formatViolations(results) || "No violations.",
  ];
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(file.replace(/(\.json)?$/, ".md"), `${parts.join("\n\n")}\n`);
}
