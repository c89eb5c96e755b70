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
  /** In the order of the runs: the floor, where it takes part, is the first and the last. */
  readonly rows: readonly FanOutRow[];
}

const SHAPES = {
  S1: { streams: 100, tokensPerSecond: 50, readersPerStream: 1 },
  S2: { streams: 1, tokensPerSecond: 50, readersPerStream: 300 },
} as const;

export async function runFanOut(scenario: FanOutName, context: RunContext): Promise<FanOutResult> {
  const { targets, quick } = context;
  const shape = { ...SHAPES[scenario], warmUpSeconds: quick ? 1 : 2, seconds: quick ? 2 : 8 };
  const [first, ...others] = targets;
  // The machine's own drift shows as the difference between two runs of the floor.
  const order = first === "floor" && others.length > 0 && !quick ? [...targets, first] : targets;
  const rows: FanOutRow[] = [];
  for (const target of order) {
    context.say(`${scenario} ${target}`);
    rows.push(await runOne(target, shape, context));
  }
  return { scenario, shape, rows };
}

async function runOne(
  name: TargetName,
  shape: StreamShape,
  { binaries, signal }: RunContext,
): Promise<FanOutRow> {
  await using run = await startRun(signal, () => TARGETS[name](binaries));
  const { load, target } = run;
  const measurement = await measureStream(target, load, shape, signal);
  const { [target.deliveryRole]: own = 0 } = measurement.cpuPerToken;
  if (name !== "floor") return { target: name, ...measurement, deliveryCpu: own };
  const tokensPerSecond = shape.streams * shape.tokensPerSecond * shape.readersPerStream;
  const pace = (await measurePace(target, shape, signal)) / tokensPerSecond;
  return { target: name, ...measurement, deliveryCpu: own - pace };
}
