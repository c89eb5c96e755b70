export { assertRules, checkingRules, priceRules, REQUEST_RULE_LIMITS } from "./assert-rules.ts";
export { prepareFolding } from "./scanning/fold-table.ts";
export type { RuleFinding, Scanner } from "./scanning/finding.ts";
export { type ClassifierRule, compileRuleSet, compilingRuleSet, type RuleSet } from "./rule-set.ts";
