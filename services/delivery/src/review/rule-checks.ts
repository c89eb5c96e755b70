import { WorkShares } from "@reprise/async";
import { type ModerationRule, RepriseError, ruleSetId, type TenantId } from "@reprise/protocol";
import { checkingRules, prepareFolding, priceRules, REQUEST_RULE_LIMITS } from "@reprise/moderation";

const RULES = "policy.moderation.rules";
/** Results of checks that are kept for one tenant. */
const MOST_KNOWN = 64;
/** Lists of rules of one tenant that are checked at once. */
const MOST_UNDER_WAY = 16;
const RETRY_AFTER_MS = 1_000;
/** Steps of some 15 ns: a tenant's rules get a tenth of a core, in slices of about a millisecond. */
const SHARES = { stepsPerSecond: 7_500_000, burst: 1_000_000, slice: 75_000 };

/** Undefined: they can be used. */
type Found = RepriseError | undefined;

/**
 * Checks rules before they are stored. Their price is asked for first, which compiles nothing. Each node compiles the same rules of a tenant once, in
 * slices and within the tenant's share of the node: other tenants' calls continue.
 */
export class RuleChecks {
  readonly #shares: WorkShares;
  readonly #tenants = new Map<TenantId, Map<string, Promise<Found>>>();
  readonly #underWay = new Map<TenantId, number>();

  /** @param shares of each tenant. Default: a tenth of a core */
  constructor(shares = new WorkShares(SHARES)) {
    this.#shares = shares;
    // Not while the first call with terms waits, and all others with it.
    prepareFolding();
  }

  /**
   * Checks rules that a request brings.
   * @throws RepriseError `invalid_request` that names the first bad rule; `overloaded` when too many of the tenant's are being checked
   */
  checkRequested(tenant: TenantId, rules: readonly ModerationRule[]): Promise<void> {
    return this.#check(tenant, rules, REQUEST_RULE_LIMITS);
  }

  /** The same for rules of a tenant's policy. */
  checkPolicy(tenant: TenantId, rules: readonly ModerationRule[]): Promise<void> {
    return this.#check(tenant, rules);
  }

  async #check(
    tenant: TenantId,
    rules: readonly ModerationRule[],
    limits?: typeof REQUEST_RULE_LIMITS,
  ): Promise<void> {
    priceRules(rules, RULES, limits);
    const id = await ruleSetId(rules);
    const known = this.#tenants.get(tenant) ?? new Map<string, Promise<Found>>();
    this.#tenants.set(tenant, known);
    const checked = known.get(id);
    const found = checked ?? this.#compile(tenant, rules);
    if (!checked) void found.catch(() => known.delete(id));
    known.delete(id);
    known.set(id, found);
    const [longestUnused] = known.keys();
    if (longestUnused !== undefined && known.size > MOST_KNOWN) known.delete(longestUnused);
    const error = await found;
    if (error) throw error;
  }

  #compile(tenant: TenantId, rules: readonly ModerationRule[]): Promise<Found> {
    const underWay = this.#underWay.get(tenant) ?? 0;
    if (underWay >= MOST_UNDER_WAY) {
      const message = `${underWay} sets of rules of the tenant are being checked, which is the most.`;
      throw new RepriseError("overloaded", message, { param: RULES, retryAfterMs: RETRY_AFTER_MS });
    }
    this.#underWay.set(tenant, underWay + 1);
    return this.#shares
      .run(tenant, checkingRules(rules, RULES))
      .then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof RepriseError) return error;
          throw error;
        },
      )
      .finally(() => {
        const left = (this.#underWay.get(tenant) ?? 1) - 1;
        if (left > 0) this.#underWay.set(tenant, left);
        else this.#underWay.delete(tenant);
      });
  }
}
