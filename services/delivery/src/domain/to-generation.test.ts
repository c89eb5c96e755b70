import { readFileSync } from "node:fs";
import {
  createGenerationId,
  DEFAULT_POLICY,
  type KnownEvent,
  type RequestedEvent,
  MediaTranscript,
  asSeq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { expect, test } from "vitest";
import { toGeneration } from "./to-generation.ts";

const DOCUMENT = readFileSync(new URL("../../../../PROTOCOL.md", import.meta.url), "utf8");
const id = createGenerationId(new Uint8Array(17), 1);

const requested: RequestedEvent = {
  seq: REQUEST_SEQ,
  type: "generation.requested",
  tenant: "acme",
  generation: id,
  created_at: "2026-11-21T02:00:00.000Z",
  request: { model: "sim", input: "Hi" },
  policy: DEFAULT_POLICY,
};

test("a generation has the fields that PROTOCOL.md shows, in the same order", () => {
  const [, example] = /^```json\n(\{\n  "id": "gen_[\s\S]*?)```$/m.exec(DOCUMENT)!;
  const documented = JSON.parse(example!) as object;
  expect(Object.keys(toGeneration(id, requested, new MediaTranscript()))).toEqual(Object.keys(documented));
});

test("a generation is settled when it has ended, readers may have all of it, and no review waits", () => {
  const review = {
    type: "moderation.review",
    review_id: "rev_3",
    from_seq: asSeq(1),
    to_seq: asSeq(1),
    rule: "terms",
    category: "terms",
    expires_at: "2026-11-21T03:00:00.000Z",
  } as const;
  const [log, shown] = [new MediaTranscript(), new MediaTranscript()];
  const apply = (event: KnownEvent) => {
    log.apply(event);
    return toGeneration(id, requested, log, shown).settled;
  };
  const show = (event: KnownEvent) => {
    shown.apply(event);
    return toGeneration(id, requested, log, shown);
  };
  const started = {
    seq: asSeq(1),
    type: "generation.started",
    attempt: 1,
    worker: "w",
    model: "sim",
  } as const;
  const cancelled = {
    seq: asSeq(2),
    type: "generation.cancelled",
    reason: "requested",
    usage: { input_tokens: null, output_tokens: 0 },
  } as const;
  const asked = { seq: asSeq(3), ...review };
  const answered = {
    seq: asSeq(4),
    type: "moderation.reviewed",
    review_id: review.review_id,
    decision: "approve",
    reviewer: "ann",
  } as const;
  expect([apply(started), apply(cancelled), apply(asked)]).toEqual([false, false, false]);
  show(started);
  show(cancelled);
  expect(show(asked)).toMatchObject({
    status: "cancelled",
    settled: false,
    reviews: [{ id: `${id}.${review.review_id}`, expires_at: review.expires_at }],
  });
  expect(apply(answered)).toBe(false);
  expect(show(answered)).toMatchObject({ settled: true, reviews: [] });
});

test("a generation shows the calls that wait, as its log has them, and none that do not", () => {
  const transcript = new MediaTranscript();
  const call = { call_id: "a", name: "look_up", arguments: "{}" };
  transcript.apply({ seq: asSeq(1), type: "generation.started", attempt: 1, worker: "w", model: "sim" });
  transcript.apply({ seq: asSeq(2), type: "tool.call", ...call });
  expect(toGeneration(id, requested, transcript)).toMatchObject({
    status: "awaiting_tool",
    tool_calls: [call],
  });
  transcript.apply({ seq: asSeq(3), type: "tool.result", call_id: "a", output: 1 });
  expect(toGeneration(id, requested, transcript)).toMatchObject({ status: "in_progress", tool_calls: [] });
});

test("a generation that was asked for JSON has its value, as far as readers may have it, at every moment", () => {
  const formed = {
    ...requested,
    request: { ...requested.request, response_format: { type: "json_object" } },
  } as const;
  const [log, shown] = [new MediaTranscript(), new MediaTranscript()];
  const partials: unknown[] = [];
  const say = (event: KnownEvent, isShown = true) => {
    log.apply(event);
    if (isShown) shown.apply(event);
    partials.push(toGeneration(id, formed, log, shown).partial);
  };
  const texts = ['{"city": "Bo', 'nn", "people": 34', "0000}"];
  for (const [i, text] of texts.entries()) say({ seq: asSeq(i + 1), type: "output.delta", text }, i < 2);
  expect(partials).toEqual([{ city: "Bo" }, { city: "Bonn" }, { city: "Bonn" }]);
  expect(toGeneration(id, requested, log)).not.toHaveProperty("partial");
  say({ seq: asSeq(4), type: "output.rewind", to_seq: asSeq(0), reason: "worker_lost" });
  say({ seq: asSeq(5), type: "output.delta", text: "12" });
  expect(partials.slice(3)).toEqual([undefined, undefined]);
  const usage = { input_tokens: 1, output_tokens: 1 };
  say({ seq: asSeq(6), type: "generation.completed", finish_reason: "schema_mismatch", usage });
  expect(partials.at(-1)).toBe(12);
});
