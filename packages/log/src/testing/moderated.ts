import {
  DEFAULT_POLICY,
  type EffectiveModeration,
  type EventDraft,
  type GenerationRef,
  type Verdict,
} from "@reprise/protocol";
import { requested } from "./world.ts";

export const MODERATION: EffectiveModeration = {
  mode: "gate",
  rule_set: "0".repeat(26),
  replacement: "[redacted]",
  on_unavailable: { answer: "fail_closed", after_ms: 60_000 },
  review: { answer: "redact", after_ms: 60_000 },
};

/** A request whose policy has moderation: a gate, unless told otherwise. */
export function moderatedRequest(
  ref: GenerationRef,
  moderation: Partial<EffectiveModeration> = {},
): EventDraft {
  const policy = { ...DEFAULT_POLICY, moderation: { ...MODERATION, ...moderation } };
  return { ...requested(ref), policy } as EventDraft;
}

export const redacted = (from_seq: number, to_seq = from_seq): EventDraft => ({
  type: "moderation.redacted",
  from_seq,
  to_seq,
  replacement: "[redacted]",
  rule: "terms",
  category: "terms",
});

export const halted = (from_seq: number): EventDraft => ({
  type: "moderation.halted",
  from_seq,
  replacement: "[halted]",
  rule: "terms",
  category: "terms",
});

export const unavailable = (answer: "fail_open" | "fail_closed", judged_seq: number): EventDraft => ({
  type: "moderation.unavailable",
  answer,
  judged_seq,
});

/** Everything up to an event is judged and, unless told otherwise, cleared. */
export const verdict = (judged: number, { cleared = judged, decided = 0 } = {}): Verdict => ({
  judged,
  cleared,
  decided,
});
