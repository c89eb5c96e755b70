import { parseArgs } from "node:util";
import { drillRestore } from "./restore-drill.ts";

/* `npm run drill -- restore`: the backup and restore of docs/operations/backup.md, with real processes. Exits with 0 if nothing is wrong. */

const USAGE = `npm run drill -- restore [--generations N]

  restore           makes data on a real broker, backs it up while services write, destroys everything, restores it to an
                    empty broker, compares every log, text and archived event, and has readers resume from their cursors
  --generations N   how many have ended, and how many run, 2 to 200 (default 8)`;

const LEAST = 2;
const MOST = 200;

/** @throws Error that names what is wrong */
function parseGenerations(args: readonly string[]): number {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { generations: { type: "string", default: "8" } },
  });
  if (positionals.join(" ") !== "restore") throw new Error(`"${positionals.join(" ")}" is no drill.`);
  const generations = Number(values.generations);
  if (Number.isInteger(generations) && generations >= LEAST && generations <= MOST) return generations;
  throw new Error(`--generations: "${values.generations}" is not a whole number from ${LEAST} to ${MOST}.`);
}

async function run(generations: number): Promise<void> {
  const startedAt = performance.now();
  const say = (line: string) =>
    console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
  const problems = await drillRestore({ ended: generations, running: generations, young: 2 }, say);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? "\nNothing was wrong." : `\n${problems.length} things were wrong.`);
  if (problems.length > 0) process.exitCode = 1;
}

const args = process.argv.slice(2);
let generations: number | undefined;
try {
  if (args.includes("--help")) console.log(USAGE);
  else generations = parseGenerations(args);
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (generations !== undefined) await run(generations);
