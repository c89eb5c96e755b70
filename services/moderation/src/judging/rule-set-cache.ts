import { compileRuleSet, type RuleSet } from "@reprise/rules";
import type { ModerationRule, TenantId } from "@reprise/protocol";

const MAX_SETS = 256;
const MAX_BYTES = 256 * 1_024 * 1_024;

/**
 * Compiled rules by their name, which follows from their content: one that is here never goes stale. The longest unused goes first, where
 * there are too many or too large ones.
 * @param maxBytes of all that are kept; the one used last always is
 */
export function createRuleSetCache(
  read: (tenant: TenantId, id: string) => Promise<readonly ModerationRule[] | undefined>,
  maxBytes = MAX_BYTES,
): (tenant: TenantId, id: string) => Promise<RuleSet | undefined> {
  const sets = new Map<string, Promise<RuleSet | undefined>>();
  const bytes = new Map<string, number>();
  return (tenant, id) => {
    const key = `${tenant}.${id}`;
    const present = sets.get(key);
    sets.delete(key);
    const set = present ?? compile(tenant, id);
    sets.set(key, set);
    const [longestUnused] = sets.keys();
    if (longestUnused !== undefined && sets.size > MAX_SETS) forget(longestUnused);
    // What could not be read is asked for again.
    void set.then(
      (found) => (found ? weigh(key, found.bytes) : forget(key)),
      () => forget(key),
    );
    return set;
  };

  function forget(key: string): void {
    sets.delete(key);
    bytes.delete(key);
  }

  function weigh(key: string, size: number): void {
    if (!sets.has(key)) return;
    bytes.set(key, size);
    let sum = 0;
    for (const each of bytes.values()) sum += each;
    for (const oldest of sets.keys()) {
      if (sum <= maxBytes || oldest === key) return;
      sum -= bytes.get(oldest) ?? 0;
      forget(oldest);
    }
  }

  async function compile(tenant: TenantId, id: string): Promise<RuleSet | undefined> {
    const rules = await read(tenant, id);
    return rules && compileRuleSet(id, rules);
  }
}
