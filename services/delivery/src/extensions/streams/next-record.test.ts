import { asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Append, decideAppend, decideCreate } from "./next-record.ts";
import { headOf, type Producer, type StreamHead } from "./stream-record.ts";

const TYPE = "text/plain";
const EMPTY = Buffer.alloc(0);

function create(isClosed = false): StreamHead {
  return apply(undefined, decideCreate(undefined, { config: { type: TYPE }, data: EMPTY, isClosed }, 0));
}

function apply(head: StreamHead | undefined, decision: ReturnType<typeof decideAppend>): StreamHead {
  if (decision.kind !== "store") throw new Error(decision.kind);
  return headOf({ ...decision.record, id: "" }, asStreamSeq((head?.at ?? 0) + 1));
}

const ask = (more: Partial<Append> = {}): Append => ({
  type: TYPE,
  data: Buffer.from("x"),
  closes: false,
  ...more,
});
const by = (epoch: number, seq: number, id = "p"): { producer: Producer } => ({
  producer: { id, epoch, seq },
});

/** The outcome of each append, one after the other: `store`, `unchanged` or the code of a refusal, with its headers. */
function outcomes(appends: readonly Partial<Append>[], begun = create()): unknown[] {
  let head = begun;
  return appends.map((more) => {
    const decision = decideAppend(head, ask(more), 0);
    if (decision.kind === "store") head = apply(head, decision);
    if (decision.kind !== "refused") return decision.kind;
    const { error, status, headers } = decision;
    return [error.code, ...(status === undefined ? [] : [status]), ...(headers ? [headers] : [])];
  });
}

test("a producer's appends are accepted in order, each once", () => {
  expect(outcomes([by(0, 0), by(0, 0), by(0, 1), by(0, 0), by(0, 3)])).toEqual([
    "store",
    "unchanged",
    "store",
    "unchanged",
    ["output_gap", { "producer-expected-seq": "2", "producer-received-seq": "3" }],
  ]);
});

test("a later epoch fences the earlier ones and begins with 0", () => {
  expect(outcomes([by(0, 0), by(2, 1), by(2, 0), by(1, 0), by(0, 1), by(2, 1)])).toEqual([
    "store",
    ["invalid_request"],
    "store",
    ["producer_fenced", 403, { "producer-epoch": "2" }],
    ["producer_fenced", 403, { "producer-epoch": "2" }],
    "store",
  ]);
});

test("a closed stream takes no more, but its producer's last append again, and a close again", () => {
  const closing = { ...by(0, 1), closes: true };
  const none = { data: EMPTY, type: undefined, closes: true };
  expect(outcomes([by(0, 0), closing, closing, by(0, 0), by(0, 2), {}, none, by(0, 0, "q")])).toEqual([
    "store",
    "store",
    "unchanged",
    "unchanged",
    ["stream_closed"],
    ["stream_closed"],
    "unchanged",
    ["stream_closed"],
  ]);
});

test("Stream-Seq only grows, byte by byte", () => {
  const orders = ["2", "10", "2", "20", "a", "B"].map((order) => ({ order }));
  const conflict = ["stream_conflict"];
  expect(outcomes(orders)).toEqual(["store", conflict, conflict, "store", "store", conflict]);
});

test("content has the stream's type, in any case and with any parameters", () => {
  const types = ["Text/Plain; charset=utf-8", "application/json", undefined].map((type) => ({ type }));
  expect(outcomes(types)).toEqual(["store", ["stream_conflict"], ["stream_conflict"]]);
});

test("the 32 producers heard last are remembered", () => {
  const first = by(0, 0, "0");
  const others = Array.from({ length: 31 }, (_, i) => by(0, 0, `${i + 1}`));
  expect(outcomes([first, ...others, first]).at(-1)).toBe("unchanged");
  expect(outcomes([first, ...others, by(0, 0, "32"), by(0, 1, "0")]).at(-1)).toEqual([
    "output_gap",
    { "producer-expected-seq": "0", "producer-received-seq": "1" },
  ]);
});
