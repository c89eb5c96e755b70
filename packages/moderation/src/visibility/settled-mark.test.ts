import { asSeq, type SeqRange } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type ReviewStep, SettledMark } from "./settled-mark.ts";

const same = (range: SeqRange) => range;
const verdict = (judged: number, cleared = judged) => ({ judged: asSeq(judged), cleared: asSeq(cleared) });

const review = (seq: number, fromSeq: number): ReviewStep => ({
  seq: asSeq(seq),
  type: "moderation.review",
  review_id: `rev_${seq}`,
  from_seq: asSeq(fromSeq),
  to_seq: asSeq(fromSeq),
  rule: "r",
  category: "c",
  expires_at: "2030-01-01T00:00:00.000Z",
});

const reviewed = (seq: number, reviewSeq: number): ReviewStep => ({
  seq: asSeq(seq),
  type: "moderation.reviewed",
  review_id: `rev_${reviewSeq}`,
  decision: "approve",
  reviewer: "bob",
});

test("what is cleared is settled, and stays so", () => {
  const mark = new SettledMark(same);
  mark.update(asSeq(9), verdict(6, 4));
  expect(mark.seq).toBe(4);
  mark.update(asSeq(9), verdict(2));
  expect(mark.seq).toBe(4);
});

test("what was judged beyond the last event here settles nothing until that has come", () => {
  const mark = new SettledMark(same);
  mark.update(asSeq(4), verdict(5));
  expect(mark.seq).toBe(0);
  mark.took(review(5, 3));
  mark.update(asSeq(5), verdict(5));
  expect(mark.seq).toBe(2);
});

test("a review holds its text until moderation has judged the event that decides it", () => {
  const mark = new SettledMark(same);
  mark.took(review(5, 3));
  mark.update(asSeq(6), verdict(6));
  mark.took(reviewed(7, 5));
  mark.update(asSeq(7), verdict(6));
  expect(mark.seq).toBe(2);
  mark.update(asSeq(7), verdict(7));
  expect(mark.seq).toBe(7);
});

test("a review of text that was withdrawn together with earlier text holds all of it", () => {
  const mark = new SettledMark(() => ({ fromSeq: asSeq(2), toSeq: asSeq(4) }));
  mark.took(review(6, 4));
  mark.update(asSeq(6), verdict(6));
  expect(mark.seq).toBe(1);
});
