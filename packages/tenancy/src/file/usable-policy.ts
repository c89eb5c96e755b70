import {
  MODERATION_LIMITS,
  type ModerationRule,
  moderationRuleSchema,
  moderationSchema,
  policySchema,
  RepriseError,
} from "@reprise/protocol";
import { assertRules } from "@reprise/moderation";
import * as z from "zod";

/** A policy whose rules can be used: what no schema can say of them is checked too, so that every bad one is named. */
export const usablePolicySchema = policySchema.extend({
  moderation: moderationSchema
    .extend({
      rules: z
        .array(moderationRuleSchema)
        .max(MODERATION_LIMITS.rules)
        // Beside rules that the schema refuses, the others are still checked.
        .superRefine(refuseUnusable, { when: ({ value }) => Array.isArray(value) })
        .optional(),
    })
    .optional(),
});

const PARAM = "rules";

/** All rules together first, which is all there is to do for good ones; then each by itself, so that every bad one is named. */
function refuseUnusable(values: readonly unknown[], context: z.RefinementCtx): void {
  const parsed = values.map((value) => moderationRuleSchema.safeParse(value).data);
  const rules = parsed.filter((rule) => rule !== undefined);
  const together = problemOf(rules);
  if (!together) return;
  let found = 0;
  for (const [index, rule] of parsed.entries()) {
    const alone = rule && problemOf([rule]);
    if (!alone) continue;
    found++;
    report(alone, index);
  }
  if (found === 0 && rules.length === values.length) report(together, together.path[0] as number);

  function report({ path: [, ...inRule], message }: Problem, index: number): void {
    context.addIssue({ code: "custom", path: [index, ...inRule], message });
  }
}

interface Problem {
  /** The rule's index, and where in the rule. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

function problemOf(rules: readonly ModerationRule[]): Problem | undefined {
  try {
    assertRules(rules, PARAM);
    return undefined;
  } catch (error) {
    if (!(error instanceof RepriseError) || error.param === undefined) throw error;
    // `rules.0.terms.7: has no …`
    const path = error.param
      .split(".")
      .slice(1)
      .map((part) => (/^[0-9]+$/.test(part) ? Number(part) : part));
    return { path, message: error.message.slice(error.param.length + 2) };
  }
}
