export { assertRules } from "./assert-rules.ts";
export type { RuleFinding, Scanner } from "./scanning/finding.ts";
export { type ClassifierRule, compileRuleSet, type RuleSet } from "./rule-set.ts";
