import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Lead } from "./lead.ts";

const anyStep = fc.oneof(
  fc.record({ kind: fc.constant("took" as const), length: fc.nat(9) }),
  fc.record({ kind: fc.constant("judged" as const), seq: fc.nat(40) }),
);

test("what is shown is as much as may be, and never less than was judged or shown", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(anyStep, { maxLength: 60 }), (most, steps) => {
      const lead = new Lead(most);
      const lengths = [0];
      lead.took(0, 0, 0);
      let [judged, shown] = [0, 0];
      for (const step of steps) {
        if (step.kind === "took") lead.took(lengths.push(step.length) - 1, step.length, 0);
        else {
          lead.judged(step.seq, 0);
          judged = Math.max(judged, step.seq);
        }
        const lastSeq = lengths.length - 1;
        shown = Math.min(Math.max(shown, judged), lastSeq);
        const ahead = (to: number) =>
          lengths.slice(judged + 1, to + 1).reduce((sum, length) => sum + length, 0);
        while (shown < lastSeq && ahead(shown + 1) <= most) shown++;
        expect(lead.shownSeq(lastSeq)).toBe(shown);
      }
    }),
  );
});

test("the lag is that of the oldest event that was judged, and of all text that could be seen", () => {
  const lead = new Lead(10);
  for (const [seq, length] of [0, 4, 4, 4].entries()) lead.took(seq, length, seq * 100);
  expect(lead.judged(1, 150)).toEqual({ ms: 50, characters: 8 });
  expect(lead.judged(3, 350)).toEqual({ ms: 150, characters: 8 });
  expect([lead.judged(3, 400), lead.judged(9, 400)]).toEqual([undefined, undefined]);
});

test("what was judged of a log that has become another one is to be judged again", () => {
  const lead = new Lead(5);
  for (const [seq, length] of [0, 4, 4].entries()) lead.took(seq, length, 0);
  lead.judged(2, 0);
  lead.forget(1);
  lead.took(3, 2, 0);
  expect(lead.shownSeq(3)).toBe(2);
  lead.judged(2, 0);
  expect(lead.shownSeq(3)).toBe(3);
});
