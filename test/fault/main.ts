import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readFile } from "node:fs/promises";
import { formatTable, formatTrial, formatViolations } from "./campaign/format-table.ts";
import { type CampaignOptions, parseCampaignOptions, USAGE } from "./campaign/options.ts";
import { mergeCampaigns, mergeRowResults, type RowResult } from "./campaign/row-result.ts";
import { runJobs } from "./campaign/run-jobs.ts";
import { runTask, splitIntoTasks, type Task } from "./campaign/task.ts";
import { WorldPool } from "./campaign/run-row.ts";
import { type Report, writeReport } from "./campaign/write-report.ts";

/* `npm run test:fault`: tries every fault, and exits with 1 when an invariant did not hold. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A row's trials are divided among jobs in parts of so many: a world's start is a small part of them. */
const MOST_TRIALS_A_TASK = 10;

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
if (options) await (options.merge.length > 0 ? merge(options) : run(options));

/** A first Ctrl-C ends after the trials that run, with a report of those that were done. */
async function run({ rows, trials, seed, out, jobs }: CampaignOptions): Promise<void> {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => abort.abort());
  const file = toFile(out);
  const found = new Map<string, RowResult>();
  const results = () => rows.flatMap((row) => found.get(row.name) ?? []);
  let writing: Promise<readonly string[]> = Promise.resolve([]);
  // After each part: a campaign may last for hours, and something may end it.
  const note = async (result: RowResult): Promise<void> => {
    const before = found.get(result.row);
    found.set(result.row, before ? mergeRowResults(before, result) : result);
    // One after the other: several jobs may be done at once.
    writing = writing.then(() => writeReport(file, { seed, results: results() }));
    await writing;
  };

  const most = jobs === 1 ? Number.MAX_SAFE_INTEGER : MOST_TRIALS_A_TASK;
  const tasks = splitIntoTasks(rows, { trials, seed, most });
  if (jobs === 1) await runHere(tasks, note, abort.signal);
  else await runJobs(tasks, { jobs, say: console.log, onResult: note, signal: abort.signal });

  tell(results(), await writing);
  const isWhole = tasks.reduce((sum, task) => sum + task.trials, 0) === countTrials(results());
  if (!isWhole) console.log("The campaign was ended early.");
  if (!isWhole) process.exitCode = 1;
}

async function merge({ merge: files, out }: CampaignOptions): Promise<void> {
  const reports = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(file, "utf8")) as Report),
  );
  const results = mergeCampaigns(reports.map((report) => report.results));
  tell(results, await writeReport(toFile(out), { seed: reports.flatMap(({ seed }) => seed), results }));
}

function toFile(out: string | undefined): string {
  const name = `${new Date().toISOString().replaceAll(":", "-")}-${process.pid}.json`;
  return resolve(out ?? join(ROOT, ".reprise/fault", name));
}

/** A violation is the exit code 1. */
function tell(results: readonly RowResult[], written: readonly string[]): void {
  const violations = formatViolations(results);
  console.log(`\n${formatTable(results)}\n\n${violations || "No violations."}\n\n${written.join("\n")}`);
  if (violations !== "") process.exitCode = 1;
}

async function runHere(
  tasks: readonly Task[],
  onResult: (result: RowResult) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await using worlds = new WorldPool();
  for (const task of tasks) {
    const onTrial = (trial: Parameters<typeof formatTrial>[1]) => console.log(formatTrial(task.row, trial));
    const result = await runTask(task, { worlds, onTrial, signal });
    if (result) await onResult(result);
  }
}

function countTrials(results: readonly RowResult[]): number {
  return results.reduce((sum, { trials }) => sum + trials, 0);
}
