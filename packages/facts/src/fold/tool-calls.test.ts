import { asSeq, encodeEvent, type EventDraft } from "@reprise/protocol";
import { createRef, requested, started } from "@reprise/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toBudgetSample } from "../latency-budget/to-budget-sample.ts";
import { decodeUsOf, usPerTokenOf } from "../rows/decode-time.ts";
import { GenerationSummary } from "../summary/generation-summary.ts";
import { DEFAULT_TARGETS } from "../summary/targets.ts";
import { type EncodedFold, GenerationFold } from "./generation-fold.ts";
import { history } from "./history.fixture.ts";
import { recountDecodeUs } from "./recount.fixture.ts";

const REF = createRef();
const BEGIN = [requested(REF), started()];

const call = (id: string, tokens = 20): EventDraft => ({
  type: "tool.call",
  call_id: id,
  name: "look_up",
  arguments: "{}",
  tokens,
});
const result = (id: string): EventDraft => ({ type: "tool.result", call_id: id, output: "x" });
const said = (tokens: number): EventDraft => ({ type: "output.delta", text: "x", tokens });
const end = (outputTokens: number): EventDraft => ({
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 5, output_tokens: outputTokens },
});

type Timed = readonly [atMs: number, draft: EventDraft];

function foldOf(log: readonly Timed[], between = (fold: GenerationFold) => fold): GenerationFold {
  let fold = GenerationFold.begin(REF);
  for (const [i, [atMs, draft]] of log.entries()) {
    fold.feed(encodeEvent(asSeq(i), draft), atMs * 1_000);
    fold = between(fold);
  }
  return fold;
}

const begun = (startedMs: number): Timed[] => BEGIN.map((draft, i) => [i * startedMs, draft]);

/** An agent's turn that says nothing before its call; the tool takes a minute. */
const CALL_FIRST: readonly Timed[] = [
  ...begun(10),
  [500, call("c1")],
  [60_500, result("c1")],
  [61_000, said(50)],
  [63_000, said(50)],
  [63_000, end(120)],
];

test("from the request to the first output, waits after it and the rest are together the whole time", () => {
  fc.assert(
    fc.property(history, (log) => {
      const fold = GenerationFold.begin(REF);
      for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs);
      const row = fold.toRow();
      expect(decodeUsOf(row)).toBe(recountDecodeUs(log));
      const rest = row.first_us === null ? undefined : row.total_us - row.first_us - row.tool_wait_us;
      expect(decodeUsOf(row)).toBe(rest);
    }),
    { numRuns: 1_000 },
  );
});

test("a call is the first output of a turn that begins with it, and the wait for its tool is no time of the engine", () => {
  const row = foldOf(CALL_FIRST).toRow();
  expect(row).toMatchObject({
    first_us: 500_000,
    first_tokens: 20,
    prefill_us: 490_000,
    tool_wait_us: 60_000_000,
  });
  expect(decodeUsOf(row)).toBe(2_500_000);
  expect(usPerTokenOf(row)).toBe(25_000);
  const summary = new GenerationSummary(DEFAULT_TARGETS);
  summary.add(row);
  expect(summary.toReport()).toMatchObject({
    latency_ms: { first_token: { max: 500 }, per_output_token: { max: 25 } },
    tokens_per_second: { max: 40 },
    goodput: { met: 1, of: 1 },
  });
});

test("with the worker's record, a call's way into the log is the broker's, and the tool's time is no term's", () => {
  const delivery = {
    streams: 1,
    answers: 0,
    resumes: 0,
    disconnects: 0,
    finished: 1,
    events: 6,
    replayed: 0,
    received_us: 1_000,
    held_us: 0,
    sent_us: 200,
    gaps: null,
    engine_first_us: 488_500,
    append_us: 1_500,
    round_trip_us: null,
    first_text_us: null,
    longest_gap_us: null,
    reconnects: null,
  };
  expect(toBudgetSample({ ...foldOf(CALL_FIRST).toRow(), delivery }, { tokens: 22 })).toMatchObject({
    queue: 10_000,
    prefill: 488_500,
    // The call has 20 of the tokens, each further one takes 25 ms.
    decode: 50_000,
    broker: 2_500,
    delivery: 200,
  });
});

test("a generation of one call alone has no time per token", () => {
  const row = foldOf([...begun(10), [500, call("c1")], [900, end(20)]]).toRow();
  expect(row).toMatchObject({ first_us: 500_000, tool_wait_us: 400_000 });
  expect(usPerTokenOf(row)).toBeUndefined();
});

test("a rewind ends the wait for calls that it takes back", () => {
  const row = foldOf([
    ...begun(10),
    [200, said(5)],
    [500, call("c1")],
    [1_000, { type: "output.rewind", to_seq: asSeq(2), reason: "worker_lost" }],
    [1_000, { ...started(), attempt: 2 } as EventDraft],
    [1_500, call("c2")],
    [2_500, result("c2")],
    [3_000, said(50)],
    [10_000, end(75)],
  ]).toRow();
  expect(row.tool_wait_us).toBe(500_000 + 1_000_000);
});

test("a rewind leaves the calls before it waiting", () => {
  const row = foldOf([
    ...begun(10),
    [500, call("c1")],
    [600, call("c2")],
    [1_000, { type: "output.rewind", to_seq: asSeq(2), reason: "worker_lost" }],
    [2_500, result("c1")],
    [3_000, end(40)],
  ]).toRow();
  expect(row.tool_wait_us).toBe(2_000_000);
});

/** Turns a state into that of a version without engines, for which a call was no output. */
function toOlder({ state, ...rest }: EncodedFold): EncodedFold {
  const { engine: _engine, firstTokens: _tokens, pendingCalls, ...older } = state;
  const saidNothing = state.chunks === 0;
  return {
    ...rest,
    state: {
      ...older,
      pendingCalls: pendingCalls.map((one) => (typeof one === "string" ? one : one.id)),
      ...(saidNothing && { firstUs: null, prefillUs: null }),
    },
  };
}

const throughOlder = (fold: GenerationFold) => GenerationFold.decode(toOlder(fold.encode()));

test.each([0, 1, 2, 3])("a fold that an older version has kept after event %i continues", (kept) => {
  let fed = 0;
  const fold = foldOf(CALL_FIRST, (one) => (fed++ === kept ? throughOlder(one) : one));
  expect(fold.toRow()).toEqual(foldOf(CALL_FIRST).toRow());
});

test("calls of a fold that an older version has kept are answered, and taken back", () => {
  const waiting: Timed[] = [...begun(10), [200, said(5)], [500, call("c1")]];
  const older = () => throughOlder(foldOf(waiting));
  const feed = (fold: GenerationFold, drafts: readonly Timed[]) => {
    for (const [i, [atMs, draft]] of drafts.entries())
      fold.feed(encodeEvent(asSeq(waiting.length + i), draft), atMs * 1_000);
    return fold.toRow().tool_wait_us;
  };
  const ended: Timed = [9_000, end(50)];
  expect(feed(older(), [[1_500, result("c1")], ended])).toBe(1_000_000);
  const rewind: EventDraft = { type: "output.rewind", to_seq: asSeq(2), reason: "worker_lost" };
  expect(feed(older(), [[1_000, rewind], ended])).toBe(500_000);
});
