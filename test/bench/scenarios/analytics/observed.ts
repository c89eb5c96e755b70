import { createTempDir, startOtlpReceiver } from "@reprise/testkit";
import { type Beside, startReprise } from "../../targets/reprise/target.ts";
import type { RunningTarget } from "../../targets/target.ts";
import { alternatingRounds } from "../alternating-rounds.ts";
import { measureStream, type StreamMeasurement, type StreamShape } from "../measure-stream.ts";
import type { RunContext } from "../run-context.ts";
import { startRun } from "../start-run.ts";

/** `killed`: analytics ends without warning, and the collector stops to answer, in the middle of what is measured. */
export const OBSERVED_VARIANTS = ["off", "on", "killed"] as const;
export type ObservedVariant = (typeof OBSERVED_VARIANTS)[number];

export interface ObservedRow extends StreamMeasurement {
  readonly variant: ObservedVariant;
  /** Spans that the collector was sent. */
  readonly spans: number;
}

export interface ObservedResult {
  readonly scenario: "OBSERVED";
  readonly shape: StreamShape;
  /** The best round of each variant, the one with the lowest p99, as in S1. */
  readonly rows: readonly ObservedRow[];
  readonly rounds: readonly (readonly ObservedRow[])[];
}

/**
 * OBSERVED: S1's load, without analytics and tracing, with both (delivery traces every request, analytics is a process beside it), and with both gone in the middle, in turn.
 * Reprise only.
 */
export async function runObserved(context: RunContext): Promise<ObservedResult> {
  const { quick, say } = context;
  const shape = {
    streams: 100,
    tokensPerSecond: 50,
    readersPerStream: 1,
    warmUpSeconds: quick ? 1 : 3,
    seconds: quick ? 4 : 15,
  };
  const measured = await alternatingRounds(OBSERVED_VARIANTS, quick ? 1 : 3, (variant, round) => {
    say(`OBSERVED ${variant}, round ${round}`);
    return runOne(variant, shape, context);
  });
  return { scenario: "OBSERVED", shape, ...measured };
}

async function runOne(
  variant: ObservedVariant,
  shape: StreamShape,
  context: RunContext,
): Promise<ObservedRow> {
  await using dir = await createTempDir("bench-observed");
  await using collector = await startOtlpReceiver();
  const observed = variant === "off" ? {} : { analyticsDir: dir.path, otlpUrl: collector.url };
  const measured = await measureWith(observed, shape, context, (target) => {
    if (variant !== "killed") return;
    collector.answer = "hang";
    const { pid } = target.processes.find(({ role }) => role === "analytics") ?? {};
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  });
  // Spans of streams end with them: they have come once delivery has stopped.
  return { ...measured, variant, spans: collector.spans.length };
}

async function measureWith(
  observed: Beside,
  shape: StreamShape,
  { settings, signal }: RunContext,
  inTheMiddle: (target: RunningTarget) => void,
): Promise<StreamMeasurement> {
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
