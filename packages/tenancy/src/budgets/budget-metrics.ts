import { type Metrics, OTHER_TENANTS, TenantLabels } from "@reprise/runtime";
import type { BudgetAccount } from "./budget-account.ts";
import type { BudgetClaim, BudgetGrant, BudgetLedger } from "./budget-ledger.ts";

const DEFAULT_TENANTS = 100;
/** A process that has not asked for so long does not know what is used. */
const FORGET_MS = 600_000;

export type BudgetRefusal = "exceeded" | "unavailable" | "unpriced";

interface SeenShare {
  readonly tenant: string;
  readonly budget: string;
  readonly account: string;
  readonly share: number;
  readonly atMs: number;
}

const OF_PROCESS = new WeakMap<Metrics, BudgetMetrics>();

/** Returns the metrics of a process. Services that share its metrics share these, so that a value that one of them saw earlier does not hide a later one. */
export function budgetMetricsOf(metrics: Metrics, maxTenants?: number): BudgetMetrics {
  const found = OF_PROCESS.get(metrics);
  const own = found ?? new BudgetMetrics(metrics, { maxTenants });
  if (!found) OF_PROCESS.set(metrics, own);
  return own;
}

/** Metrics of tenants' budgets, as a process sees them. Their memory is bounded by the named tenants and their budgets. */
export class BudgetMetrics {
  readonly #metrics: Metrics;
  readonly #labels: TenantLabels;
  readonly #now: () => number;
  readonly #shares = new Map<string, SeenShare>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(
    metrics: Metrics,
    {
      maxTenants = DEFAULT_TENANTS,
      now = () => performance.now(),
    }: { maxTenants?: number | undefined; now?: () => number } = {},
  ) {
    this.#metrics = metrics;
    this.#labels = new TenantLabels(maxTenants);
    this.#now = now;
    metrics.observeEach("reprise_budget_used_ratio", () => this.#read());
    metrics.counter("reprise_budget_ledger_errors_total").inc(0);
  }

  /** The ledger, observed. */
  watch(ledger: BudgetLedger): BudgetLedger {
    return {
      reserve: async (generation, claims) => {
        const reserved = await ledger.reserve(generation, claims);
        this.#answered(claims, reserved.grants);
        return reserved;
      },
      claim: async (generation, claims) => {
        const grants = await ledger.claim(generation, claims);
        this.#answered(claims, grants);
        return grants;
      },
      settle: (generation, uses) => ledger.settle(generation, uses),
      seed: (seeds) => ledger.seed(seeds),
    };
  }

  refused(tenant: string, reason: BudgetRefusal): void {
    this.#metrics.counter("reprise_budget_refusals_total").inc({ tenant: this.#labels.of(tenant), reason });
  }

  cutOff(tenant: string): void {
    this.#metrics.counter("reprise_budget_cut_offs_total").inc({ tenant: this.#labels.of(tenant) });
  }

  #answered(claims: readonly BudgetClaim[], grants: readonly BudgetGrant[]): void {
    if (grants.some(({ isAlone }) => isAlone))
      return this.#metrics.counter("reprise_budget_ledger_errors_total").inc();
    for (const [i, { account }] of claims.entries()) {
      const grant = grants[i];
      if (grant) this.#saw(account, (account.limit - grant.remaining) / account.limit);
    }
  }

  #saw({ tenant: id, name, key: account }: BudgetAccount, share: number): void {
    const tenant = this.#labels.of(id);
    const budget = tenant === OTHER_TENANTS ? OTHER_TENANTS : name;
    const key = `${tenant} ${budget}`;
    const atMs = this.#now();
    const before = this.#shares.get(key);
    // So that the first refusal is a growth: a counter that begins with 1 has grown by nothing.
    if (!before) {
      this.#metrics.counter("reprise_budget_refusals_total").inc({ tenant, reason: "exceeded" }, 0);
      this.#metrics.counter("reprise_budget_cut_offs_total").inc({ tenant }, 0);
    }
    if (before && before.atMs + FORGET_MS > atMs) {
      // Generations of two periods run at once at a period's end; names of periods have their order.
      if (tenant !== OTHER_TENANTS && before.account > account) return;
      if (tenant === OTHER_TENANTS && before.account !== account && before.share > share) return;
    }
    this.#shares.set(key, { tenant, budget, account, share, atMs });
  }

  *#read(): Iterable<readonly [{ tenant: string; budget: string }, number]> {
    for (const [key, { tenant, budget, share, atMs }] of this.#shares) {
      if (atMs + FORGET_MS <= this.#now()) this.#shares.delete(key);
      else yield [{ tenant, budget }, share];
    }
  }
}
