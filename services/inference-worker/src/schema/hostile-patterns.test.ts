import { expect, test } from "vitest";
import { fitsSchema } from "./fits-schema.ts";
import { PatternBudget } from "../patterns/pattern-budget.ts";

const MOST_WORK = 800_000;
const letters = Array.from({ length: 32_800 }, (_, at) => ((at * at * 2_654_435_761) % 97) % 2);
const text = letters.map((bit) => (bit === 1 ? "a" : "b")).join("");

test.for([
  ["a counted repetition", "[ab]?a(?:[ab]?){998}[cd]"],
  ["nested counted repetitions", "(?:(?:(?:[ab]?){10}){10}){10}c"],
  ["counted classes of Unicode", "(?:\\p{L}?){500}c"],
  ["a wide alternation", Array.from({ length: 120 }, (_, i) => `[ab]a${i}`).join("|")],
  ["nested stars", "(?:a*)*(?:b*)*(?:[ab]*a)*(?:a|b|ab)*(?:ba)*c"],
  ["case folding", "(?i)(?:[ab]?){400}c"],
])("%s is not searched for in a long text", ([, pattern]) => {
  const patterns = new PatternBudget();
  expect(fitsSchema({ pattern: pattern! }, text, patterns)).toBe(undefined);
  expect(patterns.spent).toBeLessThanOrEqual(MOST_WORK);
});

test("all patterns of a schema have one budget together, and what needs none is still certain", () => {
  const patterns = new PatternBudget();
  const allOf = Array.from({ length: 200 }, (_, i) => ({ pattern: `^[ab]{1,${i + 100}}` }));
  expect(fitsSchema({ allOf }, "a".repeat(200), patterns)).toBe(undefined);
  expect(patterns.spent).toBeLessThanOrEqual(MOST_WORK);
  expect(fitsSchema({ allOf, type: "integer" }, "a".repeat(200))).toBe(false);
});

test("a pattern is compiled once, however many texts it is compared with", () => {
  const patterns = new PatternBudget();
  const [first, second] = [1, 2].map(() => {
    const before = patterns.spent;
    expect(patterns.search("^[a-z]+$", "word")).toBe(true);
    return patterns.spent - before;
  });
  expect(second).toBeLessThan(first! / 2);
});

test("a pattern that RE2 can't read is not searched for", () => {
  expect(new PatternBudget().search("(?=a)b", "b")).toBe(undefined);
});
