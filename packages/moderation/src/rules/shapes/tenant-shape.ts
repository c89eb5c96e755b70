import { MODERATION_LIMITS, type ModerationRule } from "@reprise/protocol";
import { RE2JS } from "re2js";
import { DEFAULT_ACTION } from "../scanning/finding.ts";
import { Nfa } from "../scanning/nfa.ts";
import type { Shape } from "../scanning/pattern-bank.ts";

export type PatternRule = Extract<ModerationRule, { pattern: string }>;

/** A tenant's pattern: matched without regard to case, over the text as it is. */
export function tenantShape(rule: PatternRule, index: number): Shape {
  const { name = `pattern-${index}`, category = "patterns", action = DEFAULT_ACTION } = rule;
  return {
    label: { rule: name, category, action },
    nfa: tenantNfa(rule),
    maxLength: rule.max_length ?? MODERATION_LIMITS.defaultMatchLength,
  };
}

/** @throws re2js's syntax error */
export function tenantNfa({ pattern }: PatternRule): Nfa {
  return new Nfa(pattern, RE2JS.CASE_INSENSITIVE);
}
