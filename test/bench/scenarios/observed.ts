import { createTempDir, startOtlpReceiver } from "@reprise/testkit";
import { type Beside, startReprise } from "../targets/reprise/target.ts";
import type { RunningTarget } from "../targets/target.ts";
import { describeShape, measureStream, s1Shape } from "./measure-stream.ts";
import { bestOfRounds, type RunContext, type ScenarioResult, startRun } from "./run.ts";

/** `killed`: analytics is killed, and the collector hangs, in the middle of what is measured. */
type Variant = "off" | "on" | "killed";

/** OBSERVED: S1's load without analytics and tracing, with both (delivery traces every request), and with both killed in the middle. Reprise only. */
export async function runObserved(context: RunContext): Promise<ScenarioResult> {
  const { quick, say } = context;
  const variants: readonly Variant[] = ["off", "on", "killed"];
  const measured = await bestOfRounds(variants, quick ? 1 : 3, (variant, round) => {
    say(`OBSERVED ${variant}, round ${round}`);
    return runOne(variant, context);
  });
  return { scenario: "OBSERVED", what: describeShape(s1Shape(context, 3, 15)), ...measured };
}

async function runOne(variant: Variant, context: RunContext) {
  await using dir = await createTempDir("bench-observed");
  await using collector = await startOtlpReceiver();
  const observed = variant === "off" ? {} : { analyticsDir: dir.path, otlpUrl: collector.url };
  const measured = await measureWith(observed, context, (target) => {
    if (variant !== "killed") return;
    collector.answer = "hang";
    const { pid } = target.processes.find(({ role }) => role === "analytics") ?? {};
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  });
  // Delivery has stopped, and with it all streams have sent their spans.
  return { variant, ...measured, spans: collector.spans.length };
}

async function measureWith(
  observed: Beside,
  context: RunContext,
  inTheMiddle: (target: RunningTarget) => void,
) {
  const { settings, signal } = context;
  const shape = s1Shape(context, 3, 15);
  await using run = await startRun(signal, () => startReprise(settings, observed));
  const { load, target } = run;
  const specs = await target.openStreams(shape.streams);
  const middleMs = (shape.warmUpSeconds + shape.seconds / 2) * 1_000;
  const timer = setTimeout(() => inTheMiddle(target), middleMs);
  try {
    return await measureStream(target, load, shape, signal, specs);
  } finally {
    clearTimeout(timer);
  }
}
