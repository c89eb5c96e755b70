import { expect, test } from "vitest";
import { PatternBudget } from "./pattern-budget.ts";

const MOST_WORK = 800_000;
const letters = Array.from({ length: 32_800 }, (_, at) => ((at * at * 2_654_435_761) % 97) % 2);
const text = letters.map((bit) => (bit === 1 ? "a" : "b")).join("");

test.for([
  ["a counted repetition", "[ab]?a(?:[ab]?){998}[cd]"],
  ["nested counted repetitions", "(?:(?:(?:[ab]?){10}){10}){10}c"],
  ["counted classes of Unicode", "(?:\\p{L}?){500}c"],
  ["a wide alternation", Array.from({ length: 120 }, (_, i) => `[ab]a${i}`).join("|")],
  ["nested stars", "(?:a*)*(?:b*)*(?:[ab]*a)*(?:a|b|ab)*(?:ba)*c"],
])("%s is not searched for in a long text", ([, pattern]) => {
  const patterns = new PatternBudget();
  expect(patterns.search(pattern!, text)).toBe(undefined);
  expect(patterns.spent).toBeLessThanOrEqual(MOST_WORK);
});

test("all patterns of a validation have one budget together", () => {
  const patterns = new PatternBudget();
  const found = Array.from({ length: 200 }, (_, i) =>
    patterns.search(`^[ab]{1,${i + 100}}`, "a".repeat(200)),
  );
  expect([found[0], found.at(-1)]).toEqual([true, undefined]);
  expect(patterns.spent).toBeLessThanOrEqual(MOST_WORK);
});

test.for([
  ["look-around", "(?=a)b", "b"],
  ["flags", "(?i)B", "b"],
  ["a class that begins with its bracket", "[]b]", "b"],
  ["white space beyond ASCII", "^\\s$", "\u2003"],
  ["any character, in a text with a line separator", "^.$", "\u2028"],
])("a pattern that RE2 and ECMA-262 read differently is not searched for: %s", ([, pattern, within]) => {
  expect(new PatternBudget().search(pattern!, within!)).toBe(undefined);
});
