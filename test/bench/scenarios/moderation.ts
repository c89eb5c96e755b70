import { startReprise } from "../targets/reprise/target.ts";
import type { ModerationLoad } from "../targets/reprise/moderation-load.ts";
import { watchHeld } from "./held-text.ts";
import { describeShape, measureStream, s1Shape } from "./measure-stream.ts";
import { bestOfRounds, type RunContext, type ScenarioResult, startRun } from "./run.ts";

const VARIANTS = {
  off: { use: "off", text: "pieces" },
  idle: { use: "idle", text: "pieces" },
  observe: { use: "observe", text: "pieces" },
  retract: { use: "retract", text: "pieces" },
  gate: { use: "gate", text: "pieces" },
  /** No word can continue, so the gate holds nothing back. */
  "gate, whole words": { use: "gate", text: "words" },
} as const satisfies Record<string, ModerationLoad>;

type VariantName = keyof typeof VARIANTS;

const QUICK_VARIANTS: readonly VariantName[] = ["off", "gate", "gate, whole words"];

/** MODERATION: S1's load of clean text without moderation, with it but without rules, and in each mode. Reprise only. */
export async function runModeration(context: RunContext): Promise<ScenarioResult> {
  const { quick, say, settings, signal } = context;
  const shape = s1Shape(context, 3);
  const variants = quick ? QUICK_VARIANTS : (Object.keys(VARIANTS) as VariantName[]);
  const measured = await bestOfRounds(variants, quick ? 1 : 3, async (variant, round) => {
    say(`MODERATION ${variant}, round ${round}`);
    const moderation = VARIANTS[variant];
    await using run = await startRun(signal, () => startReprise(settings, { moderation }));
    const { load, target } = run;
    const specs = await target.openStreams(shape.streams);
    await using watch = moderation.use === "gate" ? await watchHeld(target) : undefined;
    const measurement = await measureStream(target, load, shape, signal, specs);
    return { variant, ...measurement, heldCharacters: watch?.samples() };
  });
  return { scenario: "MODERATION", what: describeShape(shape), ...measured };
}
