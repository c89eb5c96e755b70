import { parseArgs } from "node:util";
import { drillRestore } from "./restore/restore-drill.ts";

/* `npm run drill -- restore`: loses a platform and restores it. Exits with 0 when nothing was wrong. */

const USAGE = `npm run drill -- restore [--generations N]

  restore           makes data on a real broker, backs it up while services write, destroys everything, restores it to an
                    empty broker, compares every message, log, text and archived event, and has readers go on from their cursors
  --generations N   how many have ended, and how many run, 2 to 200 (default 8)`;

const LEAST = 2;
const MOST = 200;

let count: number | undefined;
try {
  count = parseCount(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (count !== undefined) await run(count);

/** @throws Error that says what is wrong */
function parseCount(args: readonly string[]): number {
  const options = { generations: { type: "string", default: "8" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  if (positionals.join(" ") !== "restore") throw new Error(`"${positionals.join(" ")}" can't be drilled.`);
  const parsed = Number(values.generations);
  if (Number.isInteger(parsed) && parsed >= LEAST && parsed <= MOST) return parsed;
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
