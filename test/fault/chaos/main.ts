import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { formatMs } from "../campaign/format-table.ts";
import type { FaultRow } from "../rows/row.ts";
import { startLoad } from "../trial/load.ts";
import { timeToEvent } from "../trial/recovery.ts";
import { runTrial } from "../trial/run-trial.ts";
import { startFaultWorld } from "../world/fault-world.ts";
import { FAULTS, isFaultName, readingNow } from "./faults.ts";

/* `npm run chaos -- worker`: makes one fault and reports each step. Exits with 0 when every invariant held. */

const USAGE = `npm run chaos -- <${Object.keys(FAULTS).join("|")}>

${Object.entries(FAULTS)
  .map(([name, { title }]) => `  ${name.padEnd(12)}${title}`)
  .join("\n")}`;
const STRIKES = 2;
const GENERATIONS = 6;
const TOKENS_PER_SECOND = 50;
const GENERATION_S = 6;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean", default: false } },
});
const [name = "", ...rest] = positionals;
if (values.help) console.log(USAGE);
else if (isFaultName(name) && rest.length === 0) await run(name);
else {
  console.error(`Give one fault.\n\n${USAGE}`);
  process.exitCode = 2;
}

async function run(fault: keyof typeof FAULTS): Promise<void> {
  const { title, world: worldOptions, strike } = FAULTS[fault];
  const startedAt = performance.now();
  const say = (text: string) =>
    console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${text}`);
  say(`This ${title}.`);
  await using world = await startFaultWorld(worldOptions);
  say(`nats-server, ${world.deliveries.length} delivery nodes and ${world.workers.length} workers started`);

  const row: FaultRow = {
    name: fault,
    about: title,
    proof: "a strike is made",
    world: worldOptions,
    async run(trial) {
      const load = await startLoad(trial, {
        generations: GENERATIONS,
        tokens: TOKENS_PER_SECOND * GENERATION_S,
        tokensPerSecond: TOKENS_PER_SECOND,
      });
      say(`${GENERATIONS} generations, ${load.readers.length} readers`);
      for (let strikes = 0; strikes < STRIKES && readingNow(load).length > 0; strikes++) {
        const since = performance.now();
        const { victim, affected, restore } = await strike(trial, load);
        say(`fault: ${victim}; ${affected.size} readers affected`);
        trial.hit();
        for (const [{ record }, shows] of affected) {
          await record.until(({ seen }) => seen.some((each) => each.at > since && shows(each)));
          const ms = timeToEvent(record, since, shows);
          if (ms !== undefined) trial.recovered(ms);
        }
        await restore?.();
        say("every affected reader has the next event, or the end");
      }
      await trial.ended();
      say("every reader has the end");
    },
  };
  const { violations, recoveriesMs, stored, shown, seed } = await runTrial(world, row, randomInt(2 ** 32));
  say(`${stored} events stored, ${shown} shown and compared byte for byte`);
  if (recoveriesMs.length > 0) say(`slowest recovery ${formatMs(Math.max(...recoveriesMs))}`);
  say(violations.length === 0 ? "No violations." : `${violations.length} violations (seed ${seed})`);
  for (const { kind, what } of violations) say(`  ${kind}: ${what}`);
  if (violations.length > 0) process.exitCode = 1;
}
