import { asSeq, type EventDraft, logprobsSize, MAX_LOGPROBS_SIZE } from "@reprise/protocol";
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

const textsOf = (drafts: readonly EventDraft[]) => drafts.map((draft) => (draft as { text: string }).text);
const bytesOf = (text: string) => Buffer.byteLength(text);
const KIB_32 = 32_768;

test.each(["x", "é", "中"])("deltas of %s are merged to 32 KiB of UTF-8, and never to more", (unit) => {
  const texts = textsOf(drain(queueOf(...Array.from({ length: 2_000 }, () => delta(unit.repeat(100))))));
  const sizes = texts.map(bytesOf);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(KIB_32);
  expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(KIB_32 - 300 - 1);
  expect(texts.join("")).toBe(unit.repeat(200_000));
});

test("a text of more than 32 KiB becomes several, which share its tokens, and its first has what it says of the input", () => {
  const long: EventDraft = {
    type: "output.delta",
    text: "x".repeat(100_000),
    tokens: 10,
    input_tokens: 7,
    cached_input_tokens: 3,
  };
  const [first, ...others] = drain(queueOf(long));
  expect(first).toMatchObject({ input_tokens: 7, cached_input_tokens: 3 });
  expect(others).toHaveLength(3);
  for (const draft of others) expect(draft).not.toHaveProperty("input_tokens");
  expect([first, ...others].map((draft) => (draft as { tokens: number }).tokens)).toEqual([3, 3, 3, 1]);
});

test("what a long text has consumed is said with its last piece", () => {
  const said = { consumed: asSeq(2), consumed_bytes: 9 };
  const pieces = drain(queueOf({ type: "output.delta", text: "x".repeat(70_000), tokens: 3, ...said }));
  const keys = Object.keys(said);
  expect(pieces.map((piece) => keys.filter((key) => key in piece))).toEqual([[], [], keys]);
});

test("a summary keeps its part, and one without tokens has none in any piece", () => {
  const long: EventDraft = { type: "reasoning.summary.delta", text: "x".repeat(40_000), part: 2 };
  const pieces = drain(queueOf(long, delta("after")));
  expect(pieces).toEqual([
    { type: "reasoning.summary.delta", text: "x".repeat(KIB_32), part: 2, tokens: 0 },
    { type: "reasoning.summary.delta", text: "x".repeat(40_000 - KIB_32), part: 2, tokens: 0 },
    delta("after"),
  ]);
});

test("log probabilities stay with the text that they are of", () => {
  const token = "x".repeat(20_000);
  const logprobs = ["a", "b", "c"].map((name, i) => ({ token: name + token.slice(1), logprob: -i }));
  const long: EventDraft = {
    type: "output.delta",
    text: logprobs.map((one) => one.token).join(""),
    logprobs,
  };
  const pieces = drain(queueOf(long)) as { logprobs?: unknown }[];
  expect(pieces.map((piece) => piece.logprobs)).toEqual([logprobs.slice(0, 2), logprobs.slice(2)]);
});

test("any texts are stored in pieces of at most 32 KiB, none of which ends within a character, with every token", () => {
  const anyUnit = fc.constantFrom("x", "é", "中", "🙂", "a🙂", "\ud83d");
  const anyDelta = fc.record({
    text: fc.tuple(anyUnit, fc.integer({ min: 1, max: 30_000 })).map(([unit, times]) => unit.repeat(times)),
    tokens: fc.option(fc.nat(50), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(anyDelta, { minLength: 1, maxLength: 4 }), (deltas) => {
      const queue = queueOf(
        ...deltas.map(({ text, tokens }) => ({ ...delta(text), ...(tokens !== undefined && { tokens }) })),
      );
      expect(queue.length).toBe(deltas.reduce((sum, { text }) => sum + text.length, 0));
      const pieces = drain(queue) as { text: string; tokens?: number }[];
      expect(pieces.map(({ text }) => text).join("")).toBe(deltas.map(({ text }) => text).join(""));
      expect(Math.max(...pieces.map(({ text }) => bytesOf(text)))).toBeLessThanOrEqual(KIB_32);
      const count = (all: readonly { tokens?: number | undefined }[]) =>
        all.reduce((sum, { tokens = 1 }) => sum + tokens, 0);
      expect(count(pieces)).toBe(count(deltas));
      const isCut = (left: string, right: string) =>
        /[\ud800-\udbff]$/.test(left) && /^[\udc00-\udfff]/.test(right);
      expect(pieces.filter(({ text }, i) => isCut(text, pieces[i + 1]?.text ?? ""))).toEqual([]);
    }),
    { numRuns: 50 },
  );
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

test("deltas of an item become one, but not with another item's, nor with text that may still change", () => {
  const item = (text: string, number: number, final?: true): EventDraft => ({
    type: "output.delta",
    text,
    item: number,
    ...(final && { final }),
  });
  const drafts = [item("a", 1), item("b", 1, true), item("c", 2, true), delta("d")];
  expect(drain(queueOf(...drafts))).toEqual(drafts);
  expect(drain(queueOf(item("a", 1, true), item("b", 1, true)))).toEqual([
    { ...item("ab", 1, true), tokens: 2 },
  ]);
});

test("what was said is dropped, and attempts, halts and ends are kept", () => {
  const halted: EventDraft = {
    type: "moderation.halted",
    from_seq: asSeq(3),
    replacement: "",
    rule: "r",
    category: "c",
  };
  const queue = queueOf(started(1), delta("a"), reasoning("b"), halted, completed());
  queue.dropOutput();
  expect(queue.length).toBe(0);
  expect(drain(queue)).toEqual([started(1), halted, completed()]);
});
