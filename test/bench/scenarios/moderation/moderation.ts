import type { Samples } from "../../measure/samples.ts";
import { startModerated } from "../../targets/reprise/moderated-target.ts";
import type { ModerationLoad } from "../../targets/reprise/moderation-load.ts";
import { alternatingRounds } from "../alternating-rounds.ts";
import { watchHeld } from "./held-text.ts";
import { measureStream, type StreamMeasurement, type StreamShape } from "../measure-stream.ts";
import type { RunContext } from "../run-context.ts";
import { startRun } from "../start-run.ts";

const VARIANTS = {
  off: { use: "off", text: "pieces" },
  idle: { use: "idle", text: "pieces" },
  observe: { use: "observe", text: "pieces" },
  retract: { use: "retract", text: "pieces" },
  gate: { use: "gate", text: "pieces" },
  /** Nothing in it is held back: what a gate costs where it has nothing to wait for. */
  "gate-words": { use: "gate", text: "words" },
} as const satisfies Record<string, ModerationLoad>;

export type VariantName = keyof typeof VARIANTS;

const QUICK_VARIANTS: readonly VariantName[] = ["off", "gate", "gate-words"];

export interface ModerationRow extends StreamMeasurement {
  readonly variant: VariantName;
  /** Characters of a generation that were judged and not cleared, at each verdict; undefined where nothing is held back. */
  readonly held: Samples | undefined;
}

export interface ModerationResult {
  readonly scenario: "MODERATION";
  readonly shape: StreamShape;
  /** Each variant's best round, the one with the lowest p99, as in S1. */
  readonly rows: readonly ModerationRow[];
  readonly rounds: readonly (readonly ModerationRow[])[];
}

/**
 * MODERATION: S1's load of clean text, without the moderation service, with it but nothing to judge, and in each of its modes. Reprise
 * only.
 */
export async function runModeration(context: RunContext): Promise<ModerationResult> {
  const { quick, say } = context;
  const shape = {
    streams: 100,
    tokensPerSecond: 50,
    readersPerStream: 1,
    warmUpSeconds: quick ? 1 : 3,
    seconds: quick ? 2 : 4,
  };
  const variants = quick ? QUICK_VARIANTS : (Object.keys(VARIANTS) as VariantName[]);
  const measured = await alternatingRounds(variants, quick ? 1 : 3, (variant, round) => {
    say(`MODERATION ${variant}, round ${round}`);
    return runOne(variant, shape, context);
  });
  return { scenario: "MODERATION", shape, ...measured };
}

async function runOne(
  variant: VariantName,
  shape: StreamShape,
  { settings, signal }: RunContext,
): Promise<ModerationRow> {
  await using run = await startRun(signal, () => startModerated(settings, VARIANTS[variant]));
  const { load, target } = run;
  const specs = await target.openStreams(shape.streams);
  if (VARIANTS[variant].use !== "gate") {
    return { variant, ...(await measureStream(target, load, shape, signal, specs)), held: undefined };
  }
  await using watch = await watchHeld(target);
  const measurement = await measureStream(target, load, shape, signal, specs);
  return { variant, ...measurement, held: watch.samples() };
}
