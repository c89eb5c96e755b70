import type { RuleSetStore } from "@reprise/log";
import {
  type EffectiveModeration,
  MODERATION_LIMITS,
  type Policy,
  type TenantId,
  tightenModeration,
} from "@reprise/protocol";
import { assertRules } from "@reprise/rules";

/**
 * What a new generation is to be judged by: the tenant's moderation and the request's, made one, with its rules stored under the name
 * that the log will keep. Undefined where nothing is to be judged; then nothing is stored.
 * @throws RepriseError `invalid_request` that names the request's first bad rule; `broker_unavailable`
 */
export async function keepModeration(
  ruleSets: RuleSetStore,
  tenant: TenantId,
  { tenantPolicy, requestPolicy }: { tenantPolicy: Policy; requestPolicy: Policy },
): Promise<EffectiveModeration | undefined> {
  assertRules(requestPolicy.moderation?.rules ?? [], "policy.moderation.rules", {
    termsLength: MODERATION_LIMITS.requestTermsLength,
    patternCost: MODERATION_LIMITS.requestPatternCost,
  });
  const moderation = tightenModeration(tenantPolicy.moderation, requestPolicy.moderation);
  if (!moderation) return undefined;
  const { rules, ...effective } = moderation;
  return { ...effective, rule_set: await ruleSets.keep(tenant, rules) };
}
