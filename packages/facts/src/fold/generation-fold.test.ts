import fc from "fast-check";
import { asSeq, encodeEvent, type EventDraft } from "@reprise/protocol";
import { completed, createRef, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { fromBase64 } from "../base64.ts";
import { decodeSketch, encodeSketch } from "../sketch/sketch-codec.ts";
import { Sketch } from "../sketch/sketch.ts";
import { GenerationFold } from "./generation-fold.ts";
import { history, type StoredBytes } from "./history.fixture.ts";
import { peekDeltaKind, peekTokens } from "./peek-delta.ts";
import { recount } from "./recount.fixture.ts";

const REF = { tenant: "acme", generation: "gen_test" };
const KEYS = ["plan", "feature", "absent"];

function foldAll(log: readonly StoredBytes[]): GenerationFold {
  const fold = GenerationFold.begin(REF);
  for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs, KEYS);
  return fold;
}

test("a row has the numbers that a second, independent count of the whole log finds", () => {
  fc.assert(
    fc.property(history, (log) => {
      const { gaps, ...row } = foldAll(log).toRow();
      const { gaps: counted, ...expected } = recount(log);
      expect(row).toMatchObject(expected);
      expect(row.takeovers).toEqual(expected.takeovers);
      const sketch = new Sketch();
      for (const gap of counted) sketch.add(gap);
      expect(encodeSketch(decodeSketch(fromBase64(gaps)))).toEqual(encodeSketch(sketch));
      expect(row.metadata).toEqual({ plan: "gold", feature: "x".repeat(64) });
      expect(row.is_incomplete).toBe(false);
    }),
    { numRuns: 1_000 },
  );
});

test("neither the borders of batches, nor encodings between them, nor events that come again change a row", () => {
  const cuts = fc.array(fc.record({ at: fc.nat({ max: 70 }), back: fc.nat({ max: 10 }) }), { maxLength: 8 });
  fc.assert(
    fc.property(history, cuts, (log, list) => {
      let fold = GenerationFold.begin(REF);
      let next = 0;
      const feedTo = (end: number) => {
        for (; next < Math.min(end, log.length); next++) {
          const event = log[next];
          if (event) fold.feed(event.payload, event.storedAtUs, KEYS);
        }
      };
      for (const { at, back } of list.toSorted((a, b) => a.at - b.at)) {
        feedTo(at);
        fold = GenerationFold.decode(JSON.parse(JSON.stringify(fold.encode())));
        next = Math.max(0, next - back);
      }
      feedTo(log.length);
      expect(fold.toRow()).toEqual(foldAll(log).toRow());
      expect(fold.encode()).toEqual(foldAll(log).encode());
    }),
    { numRuns: 500 },
  );
});

test("tokens that are read from a delta's bytes are those of its JSON, or are left to the parser", () => {
  const delta = fc.record(
    {
      type: fc.constantFrom("output.delta", "reasoning.delta"),
      text: fc.oneof(
        fc.string({ unit: "binary" }),
        fc.constantFrom('","tokens":9', '\\","tokens":9}', '"', "\\\\"),
      ),
      tokens: fc.nat(),
      later: fc.oneof(fc.nat(), fc.string(), fc.constant({ tokens: 7 })),
    },
    { requiredKeys: ["type", "text"] },
  );
  const order = fc.shuffledSubarray(["type", "text", "tokens", "later"], { minLength: 4 });
  let peeked = 0;
  fc.assert(
    fc.property(fc.nat(), delta, fc.option(order), (seq, fields, shuffled) => {
      const keys = shuffled ?? ["type", "text", "tokens", "later"];
      const pairs = keys.flatMap((key) => (key in fields ? [[key, fields[key as keyof typeof fields]]] : []));
      const payload = new TextEncoder().encode(JSON.stringify({ seq, ...Object.fromEntries(pairs) }));
      const kind = peekDeltaKind(payload);
      const tokens = kind && peekTokens(payload, kind);
      if (tokens === undefined) return;
      peeked++;
      expect(kind).toBe(fields.type.split(".")[0]);
      expect(tokens).toBe(fields.tokens ?? 1);
    }),
    { numRuns: 3_000 },
  );
  expect(peeked).toBeGreaterThan(100);
});

test("what a fold keeps of tokens is bounded, however many deltas there are and however many tokens each has", () => {
  const keptAfter = (deltas: number, tokensOf: (i: number) => number) => {
    const fold = GenerationFold.begin(REF);
    for (const [i, draft] of [requested(createRef()), started()].entries())
      fold.feed(encodeEvent(asSeq(i), draft), i);
    for (let i = 0; i < deltas; i++)
      fold.feed(encodeEvent(asSeq(i + 2), { type: "output.delta", text: "a", tokens: tokensOf(i) }), i + 2);
    return fold.encode().kept.length;
  };
  expect(keptAfter(5_000, () => 2)).toBeLessThanOrEqual(8);
  for (const deltas of [1_000, 5_000, 20_000])
    expect(keptAfter(deltas, (i) => 1 + (i % 2))).toBeLessThan(1_100);
});

test("a rewind to a tool's answer is counted exactly after any number of deltas", () => {
  const ref = createRef();
  const deltas = (count: number): EventDraft[] =>
    Array.from({ length: count }, (_, i) => ({ type: "output.delta", text: "a", tokens: 1 + (i % 3) }));
  const call = { type: "tool.call", call_id: "c1", name: "look_up", arguments: "{}" } as const;
  const answer = { type: "tool.result", call_id: "c1", output: "found" } as const;
  const drafts = [requested(ref), started(), ...deltas(301), call, answer];
  const rewind: EventDraft = {
    type: "output.rewind",
    to_seq: asSeq(drafts.length - 1),
    reason: "worker_lost",
  };
  const usage = { input_tokens: 1, output_tokens: 601 + 1_999 + 6 };
  const end: EventDraft = { type: "generation.completed", finish_reason: "stop", usage };
  const log = [...drafts, ...deltas(1_000), rewind, ...deltas(3), end];
  let fold = GenerationFold.begin(REF);
  for (const [i, draft] of log.entries()) {
    fold.feed(encodeEvent(asSeq(i), draft), i);
    if (i % 100 === 0) fold = GenerationFold.decode(JSON.parse(JSON.stringify(fold.encode())));
  }
  const row = fold.toRow();
  // 301 deltas have 601 tokens, 1,000 have 1,999, three have 6.
  expect(row.output_tokens - row.output_tokens_kept).toBe(1_999);
  expect(row.uncounted_tokens).toBe(0);
});

test("a log of which the beginning is gone is told", () => {
  fc.assert(
    fc.property(history, (log) => {
      fc.pre(log.length > 2);
      expect(foldAll(log.slice(1)).toRow().is_incomplete).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("bytes that are no event are refused", () => {
  const fold = GenerationFold.begin(REF);
  for (const text of ["", "{}", '{"seq":0}', "null", '{"seq":0,"type":7}'])
    expect(() => fold.feed(new TextEncoder().encode(text), 1)).toThrow(/event/i);
});

test("bytes that are refused in the middle of a log leave the fold as it was", () => {
  fc.assert(
    fc.property(history, (log) => {
      const fold = GenerationFold.begin(REF);
      for (const { payload, storedAtUs } of log.slice(0, -1)) fold.feed(payload, storedAtUs, KEYS);
      const before = fold.encode();
      const refused = new TextEncoder().encode(`{"seq":${log.length + 5},"type":7}`);
      expect(() => fold.feed(refused, 1, KEYS)).toThrow(/event/i);
      expect(fold.encode()).toEqual(before);
    }),
    { numRuns: 50 },
  );
});

test("metadata is cut to well-formed text, and what an object inherits is none", () => {
  const values = { emoji: `${"x".repeat(63)}💧`, half: "a\ud800b", nul: "a\0b" };
  const fold = GenerationFold.begin(REF);
  const ref = createRef();
  const drafts = [requested(ref, { metadata: values }), started(), completed()];
  const keys = [...Object.keys(values), "constructor", "toString", "hasOwnProperty"];
  for (const [i, draft] of drafts.entries()) fold.feed(encodeEvent(asSeq(i), draft), i, keys);
  const { metadata } = fold.toRow();
  expect(metadata).toEqual({ emoji: `${"x".repeat(63)}\ufffd`, half: "a\ufffdb", nul: "a\ufffdb" });
});
