import { OwnerQueues, type WorkShares } from "@reprise/async";
import type { ModerationRule, TenantId } from "@reprise/protocol";
import { compilingRuleSet, type RuleSet } from "../rules/rule-set.ts";

const MAX_SETS = 256;
const MAX_BYTES = 256 * 1_024 * 1_024;

export interface RuleSetCacheOptions {
  readonly read: (tenant: TenantId, id: string) => Promise<readonly ModerationRule[] | undefined>;
  /** Rules are compiled within their tenant's share. */
  readonly shares: Pick<WorkShares, "run">;
  /** Limit for all sets together. Each tenant keeps its most recently used set, unless that tenant uses the most memory. */
  readonly maxBytes?: number;
}

interface Entry {
  readonly tenant: TenantId;
  readonly set: Promise<RuleSet | undefined>;
  bytes: number;
}

/**
 * Compiled rules by their name, which follows from their content: one that is here never goes stale. Where there are too many or too large ones, the
 * tenant that has most loses the one that it has not used for longest: no tenant displaces another one's.
 */
export function createRuleSetCache({
  read,
  shares,
  maxBytes = MAX_BYTES,
}: RuleSetCacheOptions): (tenant: TenantId, id: string) => Promise<RuleSet | undefined> {
  const entries = new Map<string, Entry>();
  const compiling = new OwnerQueues(1);
  return (tenant, id) => {
    const key = `${tenant}.${id}`;
    const present = entries.get(key);
    entries.delete(key);
    const entry = present ?? { tenant, set: compile(tenant, id), bytes: 0 };
    entries.set(key, entry);
    if (present) return present.set;
    // What could not be read is asked for again.
    void entry.set.then(
      (found) => {
        if (!found) return forget(key, entry);
        entry.bytes = found.bytes;
        makeRoom(key);
      },
      () => forget(key, entry),
    );
    makeRoom(key);
    return entry.set;
  };

  function forget(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key);
  }

  /** @param last of the set that was used last, which stays */
  function makeRoom(last: string): void {
    for (;;) {
      const [sets, bytes] = [new Map<TenantId, number>(), new Map<TenantId, number>()];
      let sum = 0;
      for (const entry of entries.values()) {
        sum += entry.bytes;
        sets.set(entry.tenant, (sets.get(entry.tenant) ?? 0) + 1);
        bytes.set(entry.tenant, (bytes.get(entry.tenant) ?? 0) + entry.bytes);
      }
      const isTooLarge = sum > maxBytes;
      if (!isTooLarge && entries.size <= MAX_SETS) return;
      const largest = mostOf(isTooLarge ? bytes : sets);
      const victim = entries.entries().find(([key, { tenant }]) => tenant === largest && key !== last);
      if (!victim) return;
      entries.delete(victim[0]);
    }
  }

  function compile(tenant: TenantId, id: string): Promise<RuleSet | undefined> {
    return compiling.run(tenant, async () => {
      const rules = await read(tenant, id);
      return rules && shares.run(tenant, compilingRuleSet(id, rules));
    });
  }
}

function mostOf(sums: ReadonlyMap<TenantId, number>): TenantId | undefined {
  let most: [TenantId, number] | undefined;
  for (const one of sums) if (!most || one[1] > most[1]) most = one;
  return most?.[0];
}
