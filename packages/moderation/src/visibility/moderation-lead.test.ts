import { asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ModerationLead } from "./moderation-lead.ts";

const anyStep = fc.oneof(
  fc.record({ kind: fc.constant("took" as const), length: fc.nat(9) }),
  fc.record({ kind: fc.constant("judged" as const), seq: fc.nat(40) }),
);

const sum = (lengths: readonly number[]) => lengths.reduce((total, length) => total + length, 0);

test("what is shown never falls back, is never more than may be, and the next event would be too much", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(anyStep, { maxLength: 60 }), (most, steps) => {
      const lead = new ModerationLead(most);
      const lengths = [0];
      lead.took(asSeq(0), 0, 0);
      let [judged, before] = [0, 0];
      for (const step of steps) {
        if (step.kind === "took") lead.took(asSeq(lengths.push(step.length) - 1), step.length, 0);
        else lead.judged(asSeq(step.seq), 0, asSeq(0));
        if (step.kind === "judged") judged = Math.max(judged, step.seq);
        const lastSeq = lengths.length - 1;
        const shown = lead.shownSeq(asSeq(lastSeq));
        expect(shown).toBeGreaterThanOrEqual(Math.max(before, Math.min(judged, lastSeq)));
        expect(sum(lengths.slice(judged + 1, shown + 1))).toBeLessThanOrEqual(most);
        const next = lengths.slice(judged + 1, shown + 2);
        expect(shown === lastSeq || sum(next) > most).toBe(true);
        before = shown;
      }
    }),
  );
});

test("a log of which most is forgotten, because it is judged, is shown all the same", () => {
  const lead = new ModerationLead(10);
  for (let seq = 0; seq < 10_000; seq++) {
    lead.took(asSeq(seq), 4, 0);
    if (seq >= 5) lead.judged(asSeq(seq - 5), 0, asSeq(seq));
  }
  expect(lead.shownSeq(asSeq(9_999))).toBe(9_996);
  lead.judged(asSeq(9_999), 0, asSeq(9_996));
  expect(lead.shownSeq(asSeq(9_999))).toBe(9_999);
});

test("the lag is that of the oldest text that was judged, and of all that could be seen", () => {
  const lead = new ModerationLead(10);
  for (const [seq, length] of [0, 0, 4, 4, 4].entries()) lead.took(asSeq(seq), length, seq * 100);
  expect(lead.judged(asSeq(1), 150, asSeq(3))).toBeUndefined();
  expect(lead.judged(asSeq(2), 250, asSeq(3))).toEqual({ ms: 50, characters: 8 });
  expect(lead.judged(asSeq(4), 450, asSeq(4))).toEqual({ ms: 150, characters: 8 });
  expect([lead.judged(asSeq(4), 500, asSeq(4)), lead.judged(asSeq(9), 500, asSeq(4))]).toEqual([
    undefined,
    undefined,
  ]);
});

test("what was judged of a log that has become another one is to be judged again, and is no lag", () => {
  const lead = new ModerationLead(5);
  for (const [seq, length] of [0, 4, 4].entries()) lead.took(asSeq(seq), length, 0);
  lead.judged(asSeq(2), 0, asSeq(1));
  lead.forget(asSeq(1));
  lead.took(asSeq(3), 2, 100);
  expect(lead.shownSeq(asSeq(3))).toBe(2);
  expect(lead.judged(asSeq(2), 100, asSeq(2))).toBeUndefined();
  expect(lead.shownSeq(asSeq(3))).toBe(3);
  expect(lead.judged(asSeq(3), 100, asSeq(3))).toEqual({ ms: 0, characters: 2 });
});
