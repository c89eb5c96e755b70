import {
  type EffectiveModeration,
  type EventDraft,
  type GenerationRef,
  type Verdict,
  asSeq,
} from "@reprise/protocol";
import { moderatedPolicy, requested } from "@reprise/testkit";

export { halted, MODERATION, redacted } from "@reprise/testkit";

/** A request whose policy has moderation: a gate, unless told otherwise. */
export function moderatedRequest(
  ref: GenerationRef,
  moderation: Partial<EffectiveModeration> = {},
): EventDraft {
  return requested(ref, {}, moderatedPolicy(moderation));
}

export const unavailable = (answer: "fail_open" | "fail_closed", judged_seq: number): EventDraft => ({
  type: "moderation.unavailable",
  answer,
  judged_seq: asSeq(judged_seq),
});

/** Everything up to an event is judged and, unless told otherwise, cleared. */
export const verdict = (judged: number, { cleared = judged, decided = 0 } = {}): Verdict => ({
  judged: asSeq(judged),
  cleared: asSeq(cleared),
  decided: asSeq(decided),
});
