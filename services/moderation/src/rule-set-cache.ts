import { compileRuleSet, type RuleSet } from "@reprise/rules";
import type { ModerationRule, TenantId } from "@reprise/protocol";

const MAX_SETS = 256;

/** Compiled rules by their name, which stands for what they say: one that is here never goes stale. The longest unused goes first. */
export function createRuleSetCache(
  read: (tenant: TenantId, id: string) => Promise<readonly ModerationRule[] | undefined>,
): (tenant: TenantId, id: string) => Promise<RuleSet | undefined> {
  const sets = new Map<string, Promise<RuleSet | undefined>>();
  return (tenant, id) => {
    const key = `${tenant}.${id}`;
    const present = sets.get(key);
    sets.delete(key);
    const set = present ?? compile(tenant, id);
    sets.set(key, set);
    if (sets.size > MAX_SETS) sets.delete(sets.keys().next().value!);
    // What could not be read is asked for again.
    void set.then(
      (found) => found ?? sets.delete(key),
      () => sets.delete(key),
    );
    return set;
  };

  async function compile(tenant: TenantId, id: string): Promise<RuleSet | undefined> {
    const rules = await read(tenant, id);
    return rules && compileRuleSet(id, rules);
  }
}
