import { TARGETS } from "../targets/all.ts";
import { measureStream } from "./measure-stream.ts";
import { type RunContext, type ScenarioResult, startRun } from "./run.ts";

/** Tokens per second of all generations together: only their number differs. */
const TOKENS_PER_SECOND = 2_500;

/** SCALE: the cost of an event with few busy generations, and with many slow ones. Reprise only. */
export async function runScale(context: RunContext): Promise<ScenarioResult> {
  const rows: object[] = [];
  for (const generations of context.quick ? [10, 1_000] : [10, 1_000, 10_000]) {
    context.say(`SCALE ${generations} generations`);
    rows.push(await runOne(generations, context));
  }
  return { scenario: "SCALE", what: `${TOKENS_PER_SECOND} tokens/s in all`, rows };
}

async function runOne(generations: number, { settings, quick, signal }: RunContext): Promise<object> {
  await using run = await startRun(signal, () => TARGETS.reprise(settings));
  const { load, target } = run;
  const interval = generations / TOKENS_PER_SECOND;
  // Whole intervals, so that each generation has the same number of tokens.
  const whole = (seconds: number) => Math.max(1, Math.round(seconds / interval)) * interval;
  const shape = {
    streams: generations,
    tokensPerSecond: 1 / interval,
    readersPerStream: 1,
    warmUpSeconds: whole(quick ? 1 : 4),
    seconds: whole(quick ? 2 : 8),
  };
  const measurement = await measureStream(target, load, shape, signal);
  const cpuMicros = Object.values(measurement.cpuMicrosPerToken).reduce((sum, micros) => sum + micros, 0);
  return { generations, allCpuPerToken: cpuMicros, ...measurement };
}
