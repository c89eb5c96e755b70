import fc from "fast-check";
import { expect, test } from "vitest";
import { compileRuleSet } from "../rule-set.ts";
import { cut, scan } from "./scanning.fixture.ts";

const MAX_LENGTH = 5;

/** From left to right, the first place with a match of at most `MAX_LENGTH`, and the longest there: by trying them all. */
function byTrying(pattern: string, text: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (let from = 0; from < text.length; from++)
    for (let to = Math.min(text.length, from + MAX_LENGTH); to > from; to--) {
      const exact = new RegExp(
        `(?<=^[^]{${from}})(?:${pattern})(?=[^]{${text.length - to}}$)(?<=^[^]{${to}})`,
        "i",
      );
      if (!exact.test(text)) continue;
      found.push({ from, to });
      from = to - 1;
      break;
    }
  return found;
}

test.for([
  "a+b",
  "ab|abab|ba",
  "(?:ab?)*",
  String.raw`\ba+`,
  String.raw`a\b.?`,
  String.raw`\Ba.*b`,
  "[^a]{2,}",
  "a.{0,3}b",
  String.raw`(?:a|b\b)+ ?`,
  ".*b",
])("%s finds, streaming, what trying every place finds", (pattern) => {
  const set = compileRuleSet("one", [{ pattern, max_length: MAX_LENGTH }]);
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "A", " ", "\n"), maxLength: 14 });
  fc.assert(
    fc.property(texts, fc.array(fc.nat(14), { maxLength: 4 }), (text, places) => {
      const streamed = scan(set, cut(text, places)).map(({ from, to }) => ({ from, to }));
      expect(streamed).toEqual(byTrying(pattern, text));
    }),
    { numRuns: 300 },
  );
});
