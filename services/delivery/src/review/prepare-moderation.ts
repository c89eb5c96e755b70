import {
  type EffectiveModeration,
  type ModerationRule,
  type Policy,
  RepriseError,
  ruleSetId,
  tightenModeration,
} from "@reprise/protocol";

const RULES = "policy.moderation.rules";

export interface ModerationSources {
  readonly tenantPolicy: Policy;
  readonly requestPolicy: Policy;
  /** The classifiers that there are; undefined where this node does not know them. */
  readonly classifiers: ReadonlySet<string> | undefined;
  /** Throws what is wrong with the request's rules. */
  readonly check: (rules: readonly ModerationRule[]) => Promise<void>;
}

export interface PreparedModeration {
  readonly moderation: EffectiveModeration;
  /** To be stored before the log that names them. */
  readonly rules: readonly ModerationRule[];
}

/**
 * Combines the tenant's moderation with the request's into the policy of a new generation, with the name of the rule set that the log keeps. Returns undefined
 * if there is nothing to judge. Stores nothing.
 * @throws RepriseError `invalid_request` that names the request's first bad rule, and what `check` throws
 */
export async function prepareModeration({
  tenantPolicy,
  requestPolicy,
  classifiers,
  check,
}: ModerationSources): Promise<PreparedModeration | undefined> {
  const requested = requestPolicy.moderation?.rules ?? [];
  if (requested.length > 0) await check(requested);
  if (classifiers) assertClassifiers(requested, classifiers);
  const moderation = tightenModeration(tenantPolicy.moderation, requestPolicy.moderation);
  if (!moderation) return undefined;
  const { rules, ...effective } = moderation;
  return { moderation: { ...effective, rule_set: await ruleSetId(rules) }, rules };
}

/** A rule for a classifier that does not exist would judge nothing: its text would count as unjudged. */
function assertClassifiers(rules: readonly ModerationRule[], known: ReadonlySet<string>): void {
  for (const [index, rule] of rules.entries()) {
    if (typeof rule === "string" || !("classifier" in rule) || known.has(rule.classifier)) continue;
    const param = `${RULES}.${index}.classifier`;
    throw new RepriseError("invalid_request", `${param}: there is no classifier "${rule.classifier}" here.`, {
      param,
    });
  }
}
