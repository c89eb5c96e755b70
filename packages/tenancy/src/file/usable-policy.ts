import {
  MODERATION_LIMITS,
  type ModerationRule,
  moderationRuleSchema,
  moderationSchema,
  policySchema,
  RepriseError,
} from "@reprise/protocol";
import { assertRules } from "@reprise/rules";
import * as z from "zod";

const rule = moderationRuleSchema.superRefine(refuseUnusable);

/** A policy whose rules can be used: what no schema can say of them is checked too, each by itself, so that every bad one is named. */
export const usablePolicySchema = policySchema.extend({
  moderation: moderationSchema
    .extend({ rules: z.array(rule).max(MODERATION_LIMITS.rules).optional() })
    .optional(),
});

const PARAM = "rules";

function refuseUnusable(value: ModerationRule, context: z.RefinementCtx): void {
  try {
    assertRules([value], PARAM);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.param === undefined) throw error;
    // `rules.0.terms.7: has no …`: where in the rule, and what is wrong there.
    const path = error.param
      .split(".")
      .slice(2)
      .map((part) => (/^[0-9]+$/.test(part) ? Number(part) : part));
    context.addIssue({ code: "custom", path, message: error.message.slice(error.param.length + 2) });
  }
}
