import { asSeq, REQUEST_SEQ } from "../seq.ts";
import * as fc from "fast-check";
import type { KnownEvent } from "./event.ts";
import { DEFAULT_POLICY } from "../request/policy.ts";

const FOUND = { rule: "cards", category: "personal-data", review_id: "rev_10" };
const usage = {
  input_tokens: 3,
  output_tokens: 5,
  cached_input_tokens: 2,
  reasoning_tokens: 1,
  audio_input_tokens: 1,
  audio_output_tokens: 2,
};

/** One event of every type with every field, in an order that a log could have. */
export const EVENT_EXAMPLES: readonly KnownEvent[] = [
  {
    seq: REQUEST_SEQ,
    type: "generation.requested",
    tenant: "acme",
    generation: `gen_0_${"0".repeat(26)}`,
    created_at: "2026-11-21T02:00:00.000Z",
    request: { model: "sim", input: "Hi", metadata: { team: "a" }, tools: [{ name: "look_up" }] },
    policy: DEFAULT_POLICY,
    idempotency_key: "order-7",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  },
  {
    seq: asSeq(1),
    type: "generation.started",
    attempt: 2,
    worker: "w1",
    model: "sim",
    nonce: "0a1b2c",
    input_tokens: 3,
    reason: "handover",
  },
  { seq: asSeq(2), type: "reasoning.delta", text: "hm", tokens: 1, input_tokens: 3, cached_input_tokens: 2 },
  {
    seq: asSeq(3),
    type: "output.delta",
    text: "Hello",
    output: 0,
    tokens: 2,
    input_tokens: 3,
    cached_input_tokens: 2,
    logprobs: [
      { token: "Hel", logprob: -0.1, top: [{ token: "Hel", logprob: -0.1 }] },
      { token: "l\uFFFD", logprob: -2, bytes: [108, 240] },
      { logprob: -3 },
    ],
  },
  { seq: asSeq(4), type: "output.rewind", to_seq: asSeq(1), reason: "worker_lost" },
  { seq: asSeq(5), type: "attempt.ended", attempt: 2, reason: "handover" },
  {
    seq: asSeq(6),
    type: "tool.call",
    call_id: "call_1",
    name: "look_up",
    arguments: '{"word":"log"}',
    tokens: 4,
    reasoning_tokens: 1,
    input_tokens: 3,
    cached_input_tokens: 2,
    audio_input_tokens: 1,
    audio_output_tokens: 2,
    provider_state: { google: { thought_signature: "c2VhbGVk" } },
  },
  { seq: asSeq(7), type: "tool.result", call_id: "call_1", output: { found: [1, null, "log"] } },
  {
    seq: asSeq(8),
    type: "moderation.redacted",
    from_seq: asSeq(3),
    to_seq: asSeq(3),
    replacement: "…",
    channel: "0",
    ...FOUND,
  },
  { seq: asSeq(9), type: "moderation.halted", from_seq: asSeq(6), replacement: "", ...FOUND },
  {
    seq: asSeq(10),
    type: "moderation.review",
    from_seq: asSeq(6),
    to_seq: asSeq(6),
    from_offset: 9,
    to_offset: 12,
    channel: "tool",
    expires_at: "2026-11-21T03:00:00.000Z",
    ...FOUND,
  },
  {
    seq: asSeq(11),
    type: "moderation.reviewed",
    review_id: "rev_10",
    decision: "edit",
    reviewer: "ann",
    replacement: "{}",
  },
  { seq: asSeq(12), type: "moderation.unavailable", answer: "fail_open", judged_seq: asSeq(5) },
  { seq: asSeq(13), type: "refusal.delta", text: "No.", tokens: 2, input_tokens: 3, cached_input_tokens: 2 },
  { seq: asSeq(14), type: "reasoning.summary.delta", text: "Looks it up.", part: 1, tokens: 3 },
  { seq: asSeq(15), type: "reasoning.sealed", encrypted: "c2VhbGVk", id: "rs_1" },
  {
    seq: asSeq(16),
    type: "output.annotation",
    kind: "url",
    from_seq: asSeq(3),
    to_seq: asSeq(3),
    from_offset: 0,
    to_offset: 5,
    url: "https://example.com/",
    title: "Example",
    file: "file-1",
    name: "a.pdf",
    quote: "Hello",
  },
  {
    seq: asSeq(17),
    type: "output.blob",
    kind: "image",
    blob: `blob_${"0".repeat(26)}`,
    media_type: "image/png",
    bytes: 68,
  },
  { seq: asSeq(18), type: "generation.completed", finish_reason: "stop", usage },
  {
    seq: asSeq(19),
    type: "generation.failed",
    error: { code: "worker_lost", message: "No worker left.", retryable: true },
    usage,
  },
  {
    seq: asSeq(20),
    type: "generation.cancelled",
    reason: "asked",
    usage: { input_tokens: null, output_tokens: 0 },
  },
];

const anySeq = fc.integer({ min: 1, max: 999_999_999_999_999 }).map(asSeq);
const anyText = fc.string({ unit: "binary" });

/** Any event that readers see whose content is free text, at any place in a log. */
export const anyEvent: fc.Arbitrary<KnownEvent> = fc.oneof(
  fc.record({ seq: anySeq, type: fc.constant("output.delta" as const), text: anyText }),
  fc.record({ seq: anySeq, type: fc.constant("reasoning.delta" as const), text: anyText, tokens: fc.nat() }),
  fc.record({ seq: anySeq, type: fc.constant("refusal.delta" as const), text: anyText }),
  fc.record({ seq: anySeq, type: fc.constant("reasoning.summary.delta" as const), text: anyText }),
  fc.record({
    seq: anySeq,
    type: fc.constant("output.annotation" as const),
    kind: fc.constant("url" as const),
    url: anyText,
    title: anyText,
  }),
  fc.record({
    seq: anySeq,
    type: fc.constant("output.blob" as const),
    kind: fc.constant("image" as const),
    blob: anyText,
  }),
  fc.record({ seq: anySeq, type: fc.constant("output.rewind" as const), to_seq: anySeq, reason: anyText }),
  fc.record({
    seq: anySeq,
    type: fc.constant("generation.cancelled" as const),
    reason: anyText,
    usage: fc.constant(usage),
  }),
);
