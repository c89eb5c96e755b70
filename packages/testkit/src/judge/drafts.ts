import { randomBytes } from "node:crypto";
import {
  createGenerationId,
  DEFAULT_POLICY,
  type EffectiveModeration,
  type EffectivePolicy,
  type EventDraft,
  type GenerationRef,
  type GenerationRequest,
  parseTenantId,
  asSeq,
} from "@reprise/protocol";

/* A generation, and what its log may hold where a test does not care about the details. */

export function createRef(tenant = "acme", shards = 1): GenerationRef {
  return { tenant: parseTenantId(tenant), generation: createGenerationId(randomBytes(17), shards) };
}

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

export const MODERATION: EffectiveModeration = {
  mode: "gate",
  rule_set: "0".repeat(26),
  replacement: "[redacted]",
  on_unavailable: { answer: "fail_closed", after_ms: 60_000 },
  review: { answer: "redact", after_ms: 60_000 },
};

/** A policy with moderation: a gate, unless told otherwise. */
export function moderatedPolicy(moderation: Partial<EffectiveModeration> = {}): EffectivePolicy {
  return { ...DEFAULT_POLICY, moderation: { ...MODERATION, ...moderation } };
}

export const started = (attempt = 1): EventDraft => ({
  type: "generation.started",
  attempt,
  worker: "w",
  model: "sim",
});

export const delta = (text: string): EventDraft => ({ type: "output.delta", text });

/** A model's output besides its text, by the channel that moderation judges it in. */
export const SAID_BESIDE = {
  reasoning: (text) => ({ type: "reasoning.delta", text }),
  reasoning_summary: (text) => ({ type: "reasoning.summary.delta", text }),
  refusal: (text) => ({ type: "refusal.delta", text }),
  annotation: (text) => ({
    type: "output.annotation",
    kind: "url",
    url: `https://a/${text}`,
    title: text,
    quote: text,
  }),
  blob: (text) => ({ type: "output.blob", kind: "image", blob: text, media_type: "image/png", bytes: 68 }),
} satisfies Record<string, (text: string) => EventDraft>;

export const completed = (): EventDraft => ({
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 1, output_tokens: 2 },
});

export const cancelled = (reason = "asked"): EventDraft => ({
  type: "generation.cancelled",
  reason,
  usage: { input_tokens: null, output_tokens: 0 },
});

export const redacted = (
  from_seq: number,
  to_seq = from_seq,
  replacement = MODERATION.replacement,
): EventDraft => ({
  type: "moderation.redacted",
  from_seq: asSeq(from_seq),
  to_seq: asSeq(to_seq),
  replacement,
  rule: "terms",
  category: "terms",
});

export const halted = (from_seq: number): EventDraft => ({
  type: "moderation.halted",
  from_seq: asSeq(from_seq),
  replacement: "[halted]",
  rule: "terms",
  category: "terms",
});
