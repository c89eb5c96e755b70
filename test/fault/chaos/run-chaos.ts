import { formatMs } from "../campaign/format-table.ts";
import type { FaultRow } from "../rows/row.ts";
import { startLoad } from "../trial/load.ts";
import { runTrial, type TrialResult } from "../trial/run-trial.ts";
import type { ViolationKind } from "../trial/violation.ts";
import { startFaultWorld } from "../world/fault-world.ts";
import { FAULTS, type FaultName } from "./faults.ts";
import { type Output, startPulse } from "./pulse.ts";
import { count, readingNow } from "./scene.ts";

export interface ChaosOptions {
  readonly fault: FaultName;
  readonly times: number;
}

const GENERATIONS = 6;
const TOKENS_PER_SECOND = 50;
/** How long generations last, for each strike and beyond the last, in seconds. */
const STRIKE_S = 2.5;
const REST_S = 1;

/** Breaks a platform of its own and tells of it. Returns whether every invariant held. */
export async function runChaos({ fault, times }: ChaosOptions, seed: number, out: Output): Promise<boolean> {
  const { title, world: worldOptions, strike } = FAULTS[fault];
  out.write(`\nStarting a platform of real processes … `);
  await using world = await startFaultWorld(worldOptions);
  const { workers, deliveries } = world;
  out.write(`nats-server, ${deliveries.length} delivery nodes, ${workers.length} workers.\n`);
  out.write(`This ${title}.\n\n`);

  const row: FaultRow = {
    name: fault,
    about: title,
    proof: "a strike is made",
    world: worldOptions,
    async run(trial) {
      using pulse = startPulse(trial, out);
      const say = (text: string) => pulse.say(text);
      say(`${GENERATIONS} generations begin, each with two readers; █ is the flow of events, 100 ms a block`);
      const tokens = TOKENS_PER_SECOND * (STRIKE_S * times + REST_S);
      const load = await startLoad(trial, {
        generations: GENERATIONS,
        tokens,
        tokensPerSecond: TOKENS_PER_SECOND,
        // Every strike may hit the same generation, which by default ends after its third worker.
        policy: { max_attempts: times + 1 },
      });
      for (let strikes = 0; strikes < times && readingNow(load).length > 0; strikes++) {
        await strike({ trial, load, say });
        trial.hit();
        const enough = trial.random.integer(20, 60);
        const [first] = readingNow(load);
        const seen = first?.record.seen.length ?? 0;
        await first?.record.until((record) => record.seen.length >= seen + enough);
      }
      await trial.ended();
      say(`all ${count(load.readers.length, "reader")} have come to the end`);
    },
  };
  const result = await runTrial(world, row, seed);
  out.write(`\n${formatVerdict(result)}\n`);
  return result.violations.length === 0;
}

function formatVerdict(result: TrialResult): string {
  const { violations, recoveriesMs, stored, shown, logs, seed } = result;
  const number = (kind: ViolationKind) =>
    String(violations.filter((violation) => violation.kind === kind).length);
  const kinds = ["lost", "duplicated", "reordered", "foreign"] as const;
  const rows: readonly (readonly [string, string])[] = [
    ["events stored / shown", `${stored} / ${shown}, compared byte for byte`],
    ["readers with events lost / repeated / reordered / of others", kinds.map(number).join(" / ")],
    ["generations without exactly one end", `${number("ends")} of ${logs.length}`],
    ["texts other than an undisturbed run's", number("text")],
    ["slowest recovery", recoveriesMs.length > 0 ? formatMs(Math.max(...recoveriesMs)) : "none was needed"],
  ];
  const lines = rows.map(([name, value]) => `  ${name.padEnd(62)}${value}`);
  const blame = violations.map(({ kind, what }) => `  ${kind}: ${what}`);
  const verdict =
    violations.length === 0
      ? "The ledger agrees: nothing lost, nothing hung."
      : `The ledger DISAGREES (seed ${seed}):\n${blame.join("\n")}`;
  return `${lines.join("\n")}\n\n${verdict}`;
}
