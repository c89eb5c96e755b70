import { TARGETS } from "../targets/all.ts";
import { measureStream, type StreamMeasurement } from "./measure-stream.ts";
import type { RunContext } from "./run-context.ts";
import { startRun } from "./start-run.ts";

export interface ScaleRow extends StreamMeasurement {
  readonly generations: number;
  /** CPU microseconds per delivered token, over all processes between token and reader. */
  readonly totalCpu: number;
}

export interface ScaleResult {
  readonly scenario: "SCALE";
  readonly tokensPerSecond: number;
  readonly rows: readonly ScaleRow[];
}

/** Together, however many generations there are: so that only their number differs. */
const TOKENS_PER_SECOND = 2_500;

/** SCALE: what an event costs when few generations are busy, and when many are slow. Reprise only. */
export async function runScale(context: RunContext): Promise<ScaleResult> {
  const rows: ScaleRow[] = [];
  for (const generations of context.quick ? [10, 1_000] : [10, 1_000, 10_000]) {
    context.say(`SCALE ${generations} generations`);
    rows.push(await runOne(generations, context));
  }
  return { scenario: "SCALE", tokensPerSecond: TOKENS_PER_SECOND, rows };
}

async function runOne(generations: number, { settings, quick, signal }: RunContext): Promise<ScaleRow> {
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
  const totalCpu = Object.values(measurement.cpuPerToken).reduce((sum, micros) => sum + micros, 0);
  return { generations, ...measurement, totalCpu };
}
