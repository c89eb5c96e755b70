export { REQUEST_RULE_LIMITS, assertRules, checkingRules, priceRules } from "./rules/assert-rules.ts";
export { type ClassifierRule, type RuleSet, compileRuleSet, compilingRuleSet } from "./rules/rule-set.ts";
export { createRuleSetCache } from "./verdicts/rule-set-cache.ts";
export type { RuleFinding, Scanner } from "./rules/scanning/finding.ts";
export { prepareFolding } from "./rules/scanning/fold-table.ts";
export { announceLateEvent, subscribeLateEvents } from "./verdicts/late-events.ts";
export { type ListedReview, type ReviewRecord, reviewList } from "./verdicts/review-list.ts";
export { type RuleSetStore, createRuleSetStore, readRuleSet } from "./verdicts/rule-sets.ts";
export {
  type StoredVerdict,
  type VerdictReader,
  createVerdictReader,
  publishLiveVerdict,
  storeVerdict,
  subscribeVerdicts,
} from "./verdicts/verdicts.ts";
export { watchRuleSets } from "./verdicts/watch-rule-sets.ts";
export type { ModerationLag } from "./visibility/moderation-lead.ts";
export { ModerationTimeout } from "./visibility/moderation-timeout.ts";
export { Visibility, holdingModeration } from "./visibility/visibility.ts";
