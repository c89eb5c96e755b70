import { randomInt } from "node:crypto";
import { type DrillOptions, parseDrillOptions, USAGE } from "./options.ts";
import { drillRestore } from "./restore/restore-drill.ts";
import { drillUpgrade } from "./upgrade/drill-upgrade.ts";
import { STEPS } from "./upgrade/upgrade-row.ts";

/* `npm run drill -- restore` and `upgrade`: what an operator has to rely on, done with real processes. Exits with 0 when nothing was wrong. */

const args = process.argv.slice(2);
const isAsked = args.includes("--help");
let options: DrillOptions | undefined;
try {
  if (isAsked) console.log(USAGE);
  else options = parseDrillOptions(args);
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options) await run(options);

async function run(drill: DrillOptions): Promise<void> {
  const startedAt = performance.now();
  const say = (line: string) =>
    console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}`);
  const problems =
    drill.name === "restore"
      ? await drillRestore({ ended: drill.generations, running: drill.generations, young: 2 }, say)
      : await drillUpgrade(
          { revision: drill.from, steps: STEPS, seed: drill.seed ?? randomInt(2 ** 31) },
          say,
        );
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? "\nNothing was wrong." : `\n${problems.length} things were wrong.`);
  if (problems.length > 0) process.exitCode = 1;
}
