import {
  DEFAULT_POLICY,
  type EffectivePolicy,
  type EventDraft,
  type GenerationRef,
  type GenerationRequest,
} from "@reprise/protocol";

/** seq 0 of a log. */
export function requested(
  { tenant, generation }: GenerationRef,
  request: Partial<GenerationRequest> = {},
  policy: EffectivePolicy = DEFAULT_POLICY,
): EventDraft {
  return {
    type: "generation.requested",
    tenant,
    generation,
    created_at: "2026-11-21T10:00:00.000Z",
    request: { model: "sim", input: "Hi", ...request },
    policy,
  };
}

export const started = (attempt = 1): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "w",
  model: "sim",
});

export const delta = (text: string): EventDraft => ({ type: "output.delta", text });

export const completed = (): EventDraft => ({
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 1, output_tokens: 2 },
});

export const redacted = (from_seq: number, to_seq: number, replacement = "[redacted]"): EventDraft => ({
  type: "moderation.redacted",
  from_seq,
  to_seq,
  replacement,
  rule: "cards",
  category: "personal-data",
});

/** A policy under which readers wait for moderation, in one way or the other. */
export function moderatedPolicy(mode: "gate" | "retract" | "observe"): EffectivePolicy {
  return {
    ...DEFAULT_POLICY,
    moderation: {
      mode,
      rule_set: "0".repeat(26),
      replacement: "[redacted]",
      on_unavailable: { answer: "fail_closed", after_ms: 60_000 },
      review: { answer: "redact", after_ms: 60_000 },
    },
  };
}
