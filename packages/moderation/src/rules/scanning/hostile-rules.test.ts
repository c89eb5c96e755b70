import { MODERATION_LIMITS, pricePattern, RepriseError } from "@reprise/protocol";
import * as fc from "fast-check";
import { RE2JS } from "re2js";
import { expect, test, vi } from "vitest";
import { mulberry32 } from "../testing/draw.ts";
import { checkingRules, priceRules, REQUEST_RULE_LIMITS } from "../assert-rules.ts";
import { compilingRuleSet } from "../rule-set.ts";
import { HOSTILE_RULES } from "./hostile-rules.fixture.ts";
import { Nfa } from "./nfa.ts";

/** Steps between two yields, and in all: some milliseconds of a core, and some tens. */
const MOST_AT_ONCE = 1_500_000;
const MOST_TO_CHECK = 6_000_000;
const MOST_TO_COMPILE = 30_000_000;
/** The states that a text makes, once for each rule set. */
const MOST_FOR_STATES = 12_000_000;
const TEXT_LENGTH = 4_000;

interface Work<T> {
  readonly value: T | undefined;
  readonly refused: string | undefined;
  readonly steps: number[];
}

/** Takes a generator of steps to its end, or to what it refuses. */
function work<T>(generator: Generator<number, T>): Work<T> {
  const steps: number[] = [];
  try {
    for (;;) {
      const { done, value } = generator.next();
      if (done) return { value, refused: undefined, steps };
      steps.push(value);
    }
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    expect(error).toMatchObject({ code: "invalid_request", param: expect.stringMatching(/^rules\.\d+\./) });
    return { value: undefined, refused: error.message, steps };
  }
}

function* checking(rules: (typeof HOSTILE_RULES)[number]["rules"]): Generator<number, void> {
  priceRules(rules, "rules", REQUEST_RULE_LIMITS);
  yield* checkingRules(rules, "rules");
}

const sum = (steps: readonly number[]): number => steps.reduce((all, one) => all + one, 0);

test.for(HOSTILE_RULES)(
  "$kind: rules of a request cost a bounded number of steps, or are refused",
  ({ rules, piece }) => {
    const checked = work(checking(rules));
    expect(Math.max(0, ...checked.steps)).toBeLessThan(MOST_AT_ONCE);
    expect(sum(checked.steps)).toBeLessThan(MOST_TO_CHECK);
    if (checked.refused !== undefined) return;
    const compiled = work(compilingRuleSet("hostile", rules));
    expect(Math.max(...compiled.steps)).toBeLessThan(MOST_AT_ONCE);
    expect(sum(compiled.steps)).toBeLessThan(MOST_TO_COMPILE);
    const set = compiled.value!;
    const scanner = set.createScanner();
    // Drawn, so that it leads to as many states as there are.
    const random = mulberry32(20_261_128);
    const letters = Array.from(piece);
    const text = Array.from(
      { length: TEXT_LENGTH },
      () => letters[Math.floor(random() * letters.length)],
    ).join("");
    const made = set.steps;
    for (let at = 0; at < text.length; at += set.pieceLength) {
      const before = set.steps;
      scanner.push(text.slice(at, at + set.pieceLength));
      expect(set.steps - before).toBeLessThan(MOST_AT_ONCE);
    }
    const perCharacter = (set.steps - made - MOST_FOR_STATES) / text.length;
    expect(perCharacter).toBeLessThan(3 * MODERATION_LIMITS.requestMatchLength);
    // Such texts have made the automata by now, but for few states.
    using closures = vi.spyOn(Nfa.prototype, "closure");
    scanner.push(text);
    expect(closures.mock.calls.length).toBeLessThan(TEXT_LENGTH / 2);
  },
);

const refusals = Object.fromEntries(
  HOSTILE_RULES.map(({ kind, rules }) => [kind, work(checking(rules)).refused]),
);

test("what costs too much is refused by what it costs and the limit", () => {
  expect(refusals["a counted class after a loop, over lines"]).toMatch(
    /rules\.0\.pattern: .* more than 1000 states/,
  );
  expect(refusals["a counted repetition of optional letters"]).toMatch(
    /2002 instructions; there may be 1024 at most/,
  );
  expect(refusals["wide ranges without regard to case"]).toMatch(
    /instructions of all patterns; there may be 8192/,
  );
  expect(refusals["many patterns that read to their longest match"]).toMatch(/there may be 2048 at most/);
});

test("nothing is compiled to find out a price", () => {
  using compile = vi.spyOn(RE2JS, "compile");
  for (const { rules } of HOSTILE_RULES)
    try {
      priceRules(rules, "rules", REQUEST_RULE_LIMITS);
    } catch (error) {
      expect(error).toBeInstanceOf(RepriseError);
    }
  expect(compile).not.toHaveBeenCalled();
});

const atom = fc.constantFrom(
  "a",
  "é",
  ".",
  "[ab]",
  "[^a-c]",
  String.raw`\d`,
  String.raw`\pL`,
  String.raw`\p{Greek}`,
  String.raw`\x{41}`,
  "^",
  "$",
  String.raw`\b`,
  "[[:alpha:]]",
  "[]a]",
  String.raw`[\pN-]`,
  String.raw`\Qa{9}\E`,
  "{",
  "x{",
);
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    atom,
    fc.array(tie("pattern"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
    fc.array(tie("pattern"), { minLength: 1, maxLength: 3 }).map((parts) => `(?:${parts.join("|")})`),
    fc
      .tuple(
        fc.constantFrom("(?:", "(", "(?i:", "(?P<n>"),
        tie("pattern"),
        fc.constantFrom("*", "+", "?", "{3}", "{2,}", "{0,4}", "{0}", "{,2}", "*?"),
      )
      .map(([open, part, sign]) => `${open}${part})${sign}`),
  ),
}));

test("a price is never below what a pattern compiles to, nor far above it", () => {
  const told = { compiled: 0, priced: 0 };
  fc.assert(
    fc.property(pattern, (source) => {
      let states: number;
      try {
        states = new Nfa(source, RE2JS.CASE_INSENSITIVE).size;
      } catch {
        return;
      }
      const price = pricePattern(source).states;
      told.compiled += states;
      told.priced += price;
      expect(price).toBeGreaterThanOrEqual(states);
    }),
    { numRuns: 2_000, seed: 20_261_128 },
  );
  expect(told.priced).toBeLessThan(1.5 * told.compiled);
});
