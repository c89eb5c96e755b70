import { Transcript } from "@reprise/protocol/wire";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "./stream-event.ts";
import { ReaderTranscript } from "./reader-transcript.ts";

const SEED = 20_261_127;

type Draft = { readonly type: string; readonly [field: string]: unknown };

const text = fc.constantFrom("a", "Böse.", "", " und");
const count = fc.option(fc.nat(3), { nil: undefined });
const seq = fc.integer({ min: 1, max: 24 });
const callId = fc.constantFrom("c1", "c2", "c3");
const usage = fc.record({ input_tokens: fc.nat(9), output_tokens: fc.nat(9) });
const withdrawal = { rule: "r", category: "c" };
const counted = { tokens: count, input_tokens: count, cached_input_tokens: count };

/** Possible events of a log, in any order: a log of the platform is more restricted. */
const anyDraft: fc.Arbitrary<Draft> = fc.oneof(
  fc.record({
    type: fc.constant("output.delta"),
    text,
    output: fc.constantFrom(undefined, 0, 1),
    ...counted,
  }),
  fc.record({ type: fc.constantFrom("output.delta", "refusal.delta", "reasoning.delta"), text, ...counted }),
  fc.record({ type: fc.constant("reasoning.summary.delta"), text, tokens: count }),
  fc.record({ type: fc.constant("generation.started"), attempt: fc.constant(1), input_tokens: count }),
  fc.record({
    type: fc.constant("output.annotation"),
    kind: fc.constant("url"),
    from_seq: seq,
    url: text,
    title: text,
  }),
  fc.record({ type: fc.constant("output.rewind"), to_seq: seq }),
  fc.record({ type: fc.constant("tool.result"), call_id: callId, output: text }),
  fc.record({
    type: fc.constant("tool.call"),
    name: text,
    arguments: text,
    ...counted,
    reasoning_tokens: count,
    audio_input_tokens: count,
    audio_output_tokens: count,
  }),
  fc.record({
    type: fc.constant("moderation.redacted"),
    from_seq: seq,
    to_seq: seq,
    replacement: fc.constantFrom("[…]", ""),
    channel: fc.constantFrom(undefined, "0", "refusal", "tool", "tool_name", "annotation"),
  }),
  fc.record({ type: fc.constant("moderation.halted"), from_seq: seq, replacement: fc.constant("[halted]") }),
  fc.record({ type: fc.constant("moderation.review"), review_id: callId, expires_at: fc.constant("later") }),
  fc.record({ type: fc.constant("moderation.reviewed"), review_id: callId }),
  fc.record({ type: fc.constant("output.blob"), kind: fc.constant("image") }),
  fc.record({ type: fc.constant("of.a.later.version") }),
);
const anyEnd: fc.Arbitrary<Draft> = fc.oneof(
  fc.record({
    type: fc.constant("generation.completed"),
    finish_reason: fc.constantFrom("stop", "tool_calls"),
    usage,
  }),
  fc.record({ type: fc.constant("generation.failed"), error: fc.constant({ code: "engine_failed" }), usage }),
  fc.record({ type: fc.constant("generation.cancelled"), usage }),
);

/** Numbers drafts as a log does: each call gets an id of its own, and a withdrawal follows the text that it withdraws. */
function toLog(drafts: readonly Draft[]): StreamEvent[] {
  return drafts.map((draft, i) => {
    const said = Object.fromEntries(
      Object.entries({ ...withdrawal, ...draft }).filter(([, value]) => value !== undefined),
    );
    const id = draft.type === "tool.call" && { call_id: `c${i}` };
    const answered = draft.type === "tool.result" && { call_id: `c${i - 1}` };
    return { ...said, ...id, ...answered, seq: i + 1 } as unknown as StreamEvent;
  });
}

function read(transcript: Transcript | ReaderTranscript): object {
  const { status, refusal, annotations, answer, usage: used, finishReason, failure, reviews } = transcript;
  const calls = transcript.pendingCalls.map(({ call_id, name, arguments: args }) => [call_id, name, args]);
  return {
    status,
    text: transcript.text,
    refusal,
    annotations,
    answer,
    usage: used,
    finishReason,
    failure,
    calls,
    reviews: [...reviews.keys()],
  };
}

describe("what a reader's transcript says", () => {
  it("is what the platform's says, after each event of any log", () => {
    const run = fc.property(
      fc.array(anyDraft, { maxLength: 24 }),
      anyEnd,
      fc.array(anyDraft, { maxLength: 6 }),
      (before, end, after) => {
        const own = new ReaderTranscript();
        const platform = new Transcript();
        const log = toLog([...before, end, ...after.filter(({ type }) => type.startsWith("moderation."))]);
        for (const event of log) {
          own.apply(event);
          platform.apply(event);
          expect(read(own)).toEqual(read(platform));
        }
      },
    );
    fc.assert(run, { seed: SEED, numRuns: 500 });
  });

  it("is as long in the making for a long log that is read after each event", () => {
    const transcript = new ReaderTranscript();
    const deltas = 50_000;
    let length = 0;
    for (let i = 1; i <= deltas; i++) {
      transcript.apply({ type: "output.delta", seq: i, text: "x" });
      length += transcript.text.length;
    }
    expect(length).toBe((deltas * (deltas + 1)) / 2);
  });
});
