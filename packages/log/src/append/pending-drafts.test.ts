import { type EventDraft, logprobsSize, MAX_LOGPROBS_SIZE } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { AppendQueue } from "./pending-drafts.ts";
import { completed, delta, started } from "../testing/world.ts";

const reasoning = (text: string): EventDraft => ({ type: "reasoning.delta", text });
const output = (text: string, number: number): EventDraft => ({ type: "output.delta", text, output: number });

function drain(queue: AppendQueue): EventDraft[] {
  const drafts: EventDraft[] = [];
  for (let draft = queue.shift(); draft; draft = queue.shift()) drafts.push(draft);
  return drafts;
}

function queueOf(...drafts: EventDraft[]): AppendQueue {
  const queue = new AppendQueue();
  for (const draft of drafts) queue.push(draft);
  return queue;
}

test("neighbouring deltas of one output become one, which counts their tokens", () => {
  const twice: EventDraft = { type: "output.delta", text: "b", tokens: 2 };
  expect(drain(queueOf(delta("a"), twice, delta("c")))).toEqual([
    { type: "output.delta", text: "abc", tokens: 4 },
  ]);
});

test("deltas of different kinds or outputs stay apart and in order", () => {
  const drafts = [delta("a"), reasoning("b"), delta("c"), output("d", 1), output("e", 2)];
  expect(drain(queueOf(...drafts))).toEqual(drafts);
});

test("output 0 and an output that is not named are the same", () => {
  expect(drain(queueOf(delta("a"), output("b", 0)))).toEqual([
    { type: "output.delta", text: "ab", tokens: 2 },
  ]);
});

test("refusals and summaries are merged like text: a refusal with its tokens, a summary part by part, with those that it says", () => {
  const refusal = (text: string): EventDraft => ({ type: "refusal.delta", text });
  const summary = (text: string, part?: number, tokens?: number): EventDraft => ({
    type: "reasoning.summary.delta",
    text,
    ...(part !== undefined && { part }),
    ...(tokens !== undefined && { tokens }),
  });
  const merged = drain(
    queueOf(
      summary("a", undefined, 3),
      summary("b", 0, 4),
      summary("c", 0),
      summary("d", 1),
      refusal("e"),
      refusal("f"),
      delta("g"),
    ),
  );
  expect(merged).toEqual([
    summary("abc", undefined, 7),
    summary("d", 1),
    { ...refusal("ef"), tokens: 2 },
    delta("g"),
  ]);
});

test("an event that is no delta is a wall between deltas", () => {
  const drafts = [delta("a"), started(2), delta("b"), completed()];
  expect(drain(queueOf(...drafts))).toEqual(drafts);
});

test("a merged delta stays below its limit however much is pushed", () => {
  const drafts = drain(queueOf(...Array.from({ length: 100 }, () => delta("x".repeat(10_000)))));
  const lengths = drafts.map((draft) => (draft as { text: string }).text.length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(65_536);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(1_000_000);
});

test("the pushed drafts themselves are left as they were", () => {
  const first = delta("a");
  drain(queueOf(first, delta("b")));
  expect(first).toEqual(delta("a"));
});

const anyLikely = fc.array(fc.record({ token: fc.string(), logprob: fc.double({ noNaN: true }) }), {
  maxLength: 3,
});
const anyAskedDelta = fc
  .record({ text: fc.string(), logprobs: fc.option(anyLikely, { nil: undefined }) })
  .map(({ text, logprobs }) => ({ type: "output.delta" as const, text, ...(logprobs && { logprobs }) }));

test("log probabilities are merged as the texts are that they are of, in order and without a loss", () => {
  fc.assert(
    fc.property(fc.array(anyAskedDelta, { minLength: 1, maxLength: 20 }), (drafts) => {
      const [merged, ...others] = drain(queueOf(...drafts)) as (typeof drafts)[number][];
      expect(others).toEqual([]);
      expect(merged?.text).toBe(drafts.map(({ text }) => text).join(""));
      expect(merged?.logprobs ?? []).toEqual(drafts.flatMap(({ logprobs = [] }) => logprobs));
    }),
  );
});

test("an event stays within its limit however many log probabilities are pushed, and what waits counts as it grows", () => {
  const top = Array.from({ length: 20 }, (_, i) => ({ token: "x".repeat(40), logprob: -i }));
  const one: EventDraft = { type: "output.delta", text: "x", logprobs: [{ token: "x", logprob: 0, top }] };
  const queue = queueOf(...Array.from({ length: 200 }, () => one));
  expect(queue.length).toBe(200 * (1 + logprobsSize([{ token: "x", logprob: 0, top }])));
  const sizes = drain(queue).map((draft) => logprobsSize((draft as { logprobs?: [] }).logprobs));
  expect(sizes.length).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_LOGPROBS_SIZE);
  expect(queue.length).toBe(0);
});

test("sealed reasoning counts with what waits, for it may be larger than any text", () => {
  const queue = queueOf(
    { type: "reasoning.sealed", encrypted: "x".repeat(200_000), id: "rs_1" },
    delta("abc"),
  );
  expect(queue.length).toBe(200_007);
  drain(queue);
  expect(queue.length).toBe(0);
});

test("a cleared queue is empty and counts nothing", () => {
  const queue = queueOf(delta("abc"));
  queue.clear();
  expect([queue.isEmpty, queue.length, queue.shift()]).toEqual([true, 0, undefined]);
});

test("keeps all text in order and counts the length of what waits, for any sequence of pushes and shifts", () => {
  const anyStep = fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.constant(undefined));
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 100 }), (steps) => {
      const queue = new AppendQueue();
      let pushed = "";
      let shifted = "";
      for (const text of steps) {
        if (text === undefined) shifted += (queue.shift() as { text: string } | undefined)?.text ?? "";
        else queue.push(delta(text));
        pushed += text ?? "";
        expect(queue.length).toBe(pushed.length - shifted.length);
      }
      for (const draft of drain(queue)) shifted += (draft as { text: string }).text;
      expect(shifted).toBe(pushed);
    }),
  );
});
