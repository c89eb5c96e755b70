import { type KnownEvent, asSeq } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { passageOf } from "./review-passage.ts";

type Draft = KnownEvent extends infer E ? (E extends KnownEvent ? Omit<E, "seq"> : never) : never;

const log = (...drafts: readonly Draft[]) =>
  drafts.map((draft, i) => ({ seq: i + 1, ...draft }) as KnownEvent);
const text = (said: string): Draft => ({ type: "output.delta", text: said });
const thought = (said: string): Draft => ({ type: "reasoning.delta", text: said });
const rewind = (to_seq: number): Draft => ({
  type: "output.rewind",
  to_seq: asSeq(to_seq),
  reason: "worker_lost",
});
const redacted = (from_seq: number, to_seq: number, replacement: string): Draft => ({
  type: "moderation.redacted",
  from_seq: asSeq(from_seq),
  to_seq: asSeq(to_seq),
  replacement,
  rule: "r",
  category: "c",
});

describe("what a reviewer is shown", () => {
  test("is the range of its channel, and 200 characters on each side", () => {
    const events = log(text("a".repeat(300)), text("x"), thought("hm"), text("y"), text("b".repeat(300)));
    expect(passageOf(events, { from_seq: asSeq(2), to_seq: asSeq(4) })).toEqual({
      text: "xy",
      before: "a".repeat(200),
      after: "b".repeat(200),
    });
    expect(passageOf(events, { from_seq: asSeq(3), to_seq: asSeq(3), channel: "reasoning" })).toEqual({
      text: "hm",
      before: "",
      after: "",
    });
  });

  test("is the text as it was, though it was withdrawn; what was withdrawn around it is not shown", () => {
    const events = log(
      text("4111"),
      text("1111 "),
      text("bad"),
      text(" end"),
      redacted(1, 2, "[card]"),
      redacted(3, 3, "*"),
    );
    expect(passageOf(events, { from_seq: asSeq(3), to_seq: asSeq(3) })).toEqual({
      text: "bad",
      before: "[card]",
      after: " end",
    });
  });

  test("is the text as it was, though it was rewound, among what counts", () => {
    const events = log(text("one "), text("lost "), text("bad "), text("lost"), rewind(1), text("two"));
    expect(passageOf(events, { from_seq: asSeq(3), to_seq: asSeq(3) })).toEqual({
      text: "bad ",
      before: "one ",
      after: "two",
    });
  });

  test("of a range that a rewind has cut is what counts: its offsets name the match in that", () => {
    const events = log(text("one dou"), text("lost"), rewind(1), text("bt two"));
    expect(passageOf(events, { from_seq: asSeq(1), to_seq: asSeq(4) })).toMatchObject({
      text: "one doubt two",
    });
  });

  test("is never half a character", () => {
    const events = log(text(`😀${"a".repeat(199)}`), text("x"), text(`${"b".repeat(199)}😀`));
    expect(passageOf(events, { from_seq: asSeq(2), to_seq: asSeq(2) })).toEqual({
      text: "x",
      before: "a".repeat(199),
      after: "b".repeat(199),
    });
  });
});
