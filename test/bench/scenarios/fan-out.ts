import { type TargetName, TARGETS } from "../targets/all.ts";
import { measurePace, measureStream, type StreamMeasurement, type StreamShape } from "./measure-stream.ts";
import type { RunContext } from "./run-context.ts";
import { startRun } from "./start-run.ts";

/** S1: many streams with one reader each. S2: one stream with many readers. */
export type FanOutName = "S1" | "S2";

export interface FanOutRow extends StreamMeasurement {
  readonly target: TargetName;
  /** CPU microseconds per delivered token of the process that delivers; the floor's without what its schedule takes. */
  readonly deliveryCpu: number;
}

export interface FanOutResult {
  readonly scenario: FanOutName;
  readonly shape: StreamShape;
  /** Each target's best round: the one with the lowest p99. What disturbs a machine only ever makes it slower. */
  readonly rows: readonly FanOutRow[];
  /** All rounds, in the order in which they ran. */
  readonly rounds: readonly (readonly FanOutRow[])[];
}

const SHAPES = {
  S1: { streams: 100, tokensPerSecond: 50, readersPerStream: 1 },
  S2: { streams: 1, tokensPerSecond: 50, readersPerStream: 300 },
} as const;

export async function runFanOut(scenario: FanOutName, context: RunContext): Promise<FanOutResult> {
  const { targets, quick, say } = context;
  const shape = { ...SHAPES[scenario], warmUpSeconds: quick ? 1 : 2, seconds: quick ? 2 : 4 };
  const rounds: FanOutRow[][] = [];
  for (let round = 1; round <= (quick ? 1 : 3); round++) {
    const rows: FanOutRow[] = [];
    for (const target of targets) {
      say(`${scenario} ${target}, round ${round}`);
      rows.push(await runOne(target, shape, context));
    }
    rounds.push(rows);
  }
  const rows = targets.map((_, index) => rounds.map((round) => round[index]!).reduce(better));
  return { scenario, shape, rows, rounds };
}

function better(one: FanOutRow, other: FanOutRow): FanOutRow {
  return other.latency.p99 < one.latency.p99 ? other : one;
}

async function runOne(
  name: TargetName,
  shape: StreamShape,
  { settings, signal }: RunContext,
): Promise<FanOutRow> {
  await using run = await startRun(signal, () => TARGETS[name](settings));
  const { load, target } = run;
  const measurement = await measureStream(target, load, shape, signal);
  const { [target.deliveryRole]: own = 0 } = measurement.cpuPerToken;
  if (name !== "floor") return { target: name, ...measurement, deliveryCpu: own };
  const tokensPerSecond = shape.streams * shape.tokensPerSecond * shape.readersPerStream;
  const pace = (await measurePace(target, shape, signal)) / tokensPerSecond;
  return { target: name, ...measurement, deliveryCpu: own - pace };
}
