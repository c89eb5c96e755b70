import { TARGETS } from "../targets/all.ts";
import { describeShape, measurePace, measureStream, s1Shape, type StreamShape } from "./measure-stream.ts";
import { bestOfRounds, type RunContext, type ScenarioResult, startRun } from "./run.ts";

/** S1: many streams with one reader each. */
export function runS1(context: RunContext): Promise<ScenarioResult> {
  return runFanOut("S1", s1Shape(context), context);
}

/** S2: one stream with many readers. */
export function runS2(context: RunContext): Promise<ScenarioResult> {
  return runFanOut("S2", { ...s1Shape(context), streams: 1, readersPerStream: 300 }, context);
}

async function runFanOut(
  scenario: string,
  shape: StreamShape,
  { targets, quick, say, settings, signal }: RunContext,
): Promise<ScenarioResult> {
  const measured = await bestOfRounds(targets, quick ? 1 : 3, async (name, round) => {
    say(`${scenario} ${name}, round ${round}`);
    await using run = await startRun(signal, () => TARGETS[name](settings));
    const { load, target } = run;
    const measurement = await measureStream(target, load, shape, signal);
    const { [target.deliveryRole]: own = 0 } = measurement.cpuMicrosPerToken;
    // The floor keeps the schedule in the process that delivers.
    const tokensPerSecond = shape.streams * shape.tokensPerSecond * shape.readersPerStream;
    const pace = name === "floor" ? (await measurePace(target, shape, signal)) / tokensPerSecond : 0;
    return { target: name, ...measurement, deliveryCpuPerToken: own - pace };
  });
  return { scenario, what: describeShape(shape), ...measured };
}
