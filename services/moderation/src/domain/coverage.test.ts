import { asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { addSpan, clipSpans, uncovered } from "./coverage.ts";

test("events that the same rules have judged are one span, others begin a new one", () => {
  const [a, b, c] = [{ rule_set: "a" }, { rule_set: "b" }, { rule_set: "c" }];
  const first = addSpan([], asSeq(5), a);
  const second = addSpan(addSpan(first, asSeq(9), a), asSeq(12), b);
  expect(second).toEqual([
    { from_seq: 1, to_seq: 9, rule_set: "a" },
    { from_seq: 10, to_seq: 12, rule_set: "b" },
  ]);
  expect(addSpan(second, asSeq(12), c)).toEqual(second);
});

test("events that other built-in sets have judged begin a new span, though the rules name the same", () => {
  const first = addSpan([], asSeq(5), { rule_set: "a" });
  expect(
    addSpan(addSpan(first, asSeq(7), { rule_set: "a", built_in: 2 }), asSeq(9), {
      rule_set: "a",
      built_in: 3,
    }),
  ).toEqual([
    { from_seq: 1, to_seq: 5, rule_set: "a" },
    { from_seq: 6, to_seq: 7, rule_set: "a", built_in: 2 },
    { from_seq: 8, to_seq: 9, rule_set: "a", built_in: 3 },
  ]);
});

test("reports the events that were not judged", () => {
  const spans = [
    { from_seq: asSeq(7), to_seq: asSeq(9), rule_set: "b" },
    { from_seq: asSeq(2), to_seq: asSeq(4), rule_set: "a" },
  ];
  expect(uncovered(spans, asSeq(12))).toEqual([
    { from_seq: 1, to_seq: 1 },
    { from_seq: 5, to_seq: 6 },
    { from_seq: 10, to_seq: 12 },
  ]);
  expect(uncovered([{ from_seq: asSeq(1), to_seq: asSeq(12), rule_set: "a" }], asSeq(12))).toEqual([]);
});

test("spans end where other events have taken the place of those that they spoke of", () => {
  const spans = [
    { from_seq: asSeq(1), to_seq: asSeq(4), rule_set: "a" },
    { from_seq: asSeq(5), to_seq: asSeq(9), rule_set: "b" },
  ];
  expect(clipSpans(spans, asSeq(7))).toEqual([spans[0], { from_seq: 5, to_seq: 6, rule_set: "b" }]);
  expect(clipSpans(spans, asSeq(5))).toEqual([spans[0]]);
});
