import { MODERATION_LIMITS, moderationRuleSchema, type ModerationRule } from "@reprise/protocol";
import { expect, test } from "vitest";
import { assertRules, REQUEST_RULE_LIMITS } from "./assert-rules.ts";
import { compileRuleSet } from "./rule-set.ts";
import { found } from "./scanning/scanning.fixture.ts";

const PARAM = "policy.moderation.rules";

test.for([
  [[{ pattern: "(a" }], "0.pattern", "missing closing )"],
  [["cards", { pattern: "(?=a)b" }], "1.pattern", ""],
  [["cards", { pattern: String.raw`(a)\1` }], "1.pattern", ""],
  [[{ pattern: "a{1001}" }], "0.pattern", ""],
  [[{ pattern: "^$" }], "0.pattern", "no text but the empty one"],
  [[{ pattern: "(?:[ab]{20}){40}", max_length: 1_000 }], "0.pattern", "instructions"],
  [[{ terms: ["a", "\u200b\u200d"] }], "0.terms.1", "no character that counts"],
  [["secrets", "cards", { terms: [" \n"] }], "2.terms.0", "no character that counts"],
] as const)("%j is refused by the name of %s", ([rules, at, says]) => {
  const assert = () => assertRules(rules as unknown as ModerationRule[], PARAM);
  expect(assert).toThrow(`${PARAM}.${at}: `);
  expect(assert).toThrow(expect.objectContaining({ code: "invalid_request", param: `${PARAM}.${at}` }));
  expect(assert).toThrow(says);
});

test("rules that are too many together are refused by the name of the one that is too much", () => {
  const limits = { ...REQUEST_RULE_LIMITS, termsLength: 10, patternCost: 400 };
  const assert = (...rules: ModerationRule[]) => assertRules(rules, PARAM, limits);
  assert({ terms: ["12345"] }, { terms: ["67890"] }, { pattern: "ab", max_length: 10 });
  expect(() => assert({ terms: ["12345"] }, "cards", { terms: ["67890", "1"] })).toThrow(
    expect.objectContaining({ code: "invalid_request", param: `${PARAM}.2.terms` }),
  );
  expect(() => assert(...Array.from({ length: 9 }, () => ({ pattern: "ab", max_length: 20 })))).toThrow(
    expect.objectContaining({ code: "invalid_request", param: `${PARAM}.5.pattern` }),
  );
});

test("good rules pass", () => {
  const rules: ModerationRule[] = [
    "cards",
    { set: "secrets", action: "halt" },
    { terms: ["a b"] },
    { pattern: String.raw`[\w.]+@example\.com`, max_length: MODERATION_LIMITS.matchLength },
    { classifier: "guard" },
  ];
  for (const rule of rules) expect(moderationRuleSchema.parse(rule)).toEqual(rule);
  expect(() => assertRules(rules, PARAM)).not.toThrow();
});

test("a finding bears its rule's name, category and action", () => {
  const set = compileRuleSet("named", [
    { set: "cards", action: "halt" },
    { terms: ["foo"], name: "words", category: "rude", action: "flag" },
    { terms: ["bar"] },
    { pattern: "ba+z" },
  ]);
  const scanner = set.createScanner();
  const findings = [...scanner.push("4111111111111111 foo bar baz "), ...scanner.end()];
  expect(findings).toEqual([
    { rule: "cards.card", category: "cards", action: "halt", from: 0, to: 16 },
    { rule: "words", category: "rude", action: "flag", from: 17, to: 20 },
    { rule: "terms-2", category: "terms", action: "redact", from: 21, to: 24 },
    { rule: "pattern-3", category: "patterns", action: "redact", from: 25, to: 28 },
  ]);
});

test("classifiers are handed on", () => {
  const set = compileRuleSet("c", [
    "cards",
    { classifier: "openai", categories: ["hate"], threshold: 0.5, action: "review" },
    { classifier: "guard" },
  ]);
  expect(set.classifiers).toEqual([
    { rule: "openai", classifier: "openai", action: "review", categories: new Set(["hate"]), threshold: 0.5 },
    { rule: "guard", classifier: "guard", action: "flag" },
  ]);
});

test("a pattern knows no case, and anchors are the text's ends", () => {
  const set = compileRuleSet("p", [{ pattern: "^Foo|baR$" }]);
  expect(found(set, "fOO foo bar Bar")).toEqual(["pattern-0: fOO", "pattern-0: Bar"]);
});
