import {
  type BudgetCharge,
  estimateInputTokens,
  type GenerationRef,
  type GenerationRequest,
  type MediaMap,
  RepriseError,
  type TenantId,
  unixNow,
} from "@reprise/protocol";
import type { Metrics } from "@reprise/runtime";
import {
  accountsOf,
  type BudgetLedger,
  budgetMetricsOf,
  type BudgetMeter,
  type BudgetRefusal,
  type BudgetReservation,
  chargesAt,
  FIRST_SLICE,
  formatUnits,
  meterOf,
  type Principal,
} from "@reprise/tenancy";
import type { ModelCosts } from "./model-prices.ts";

interface RequestBudgetsOptions {
  ledger: BudgetLedger;
  /** Returns the costs of a model by its public name; undefined if unknown. */
  costsOf: (model: string) => ModelCosts | undefined;
  /** Called when a budget refuses a create. */
  onRefused: (tenant: TenantId, reason: BudgetRefusal) => void;
  onError: (error: unknown) => void;
}

interface CreateRequestBudgets extends Pick<RequestBudgetsOptions, "ledger" | "costsOf" | "onError"> {
  readonly metrics: Metrics;
  /** Number of tenants that the metrics name. */
  readonly metricTenants: number | undefined;
}

/** Counts what they refuse, and what they see of budgets. */
export function createRequestBudgets(options: CreateRequestBudgets): RequestBudgets {
  const { metrics, metricTenants, ledger } = options;
  const seen = budgetMetricsOf(metrics, metricTenants);
  const limited = metrics.counter("reprise_limits_exceeded_total");
  return new RequestBudgets({
    ...options,
    ledger: seen.watch(ledger),
    onRefused(tenant, reason) {
      limited.inc({ limit: "budget" });
      seen.refused(tenant, reason);
    },
  });
}

/** Admits generations by their tenant's budgets. A create is one round trip to the ledger, and none where the tenant has no budget. */
export class RequestBudgets {
  readonly #options: RequestBudgetsOptions;

  constructor(options: RequestBudgetsOptions) {
    this.#options = options;
  }

  get ledger(): Pick<BudgetLedger, "seed"> {
    return this.#options.ledger;
  }

  /** Returns the charges for a generation that is created now; undefined if the tenant has no budget. */
  chargesOf({ budgets }: Principal, model: string, at: Date): readonly BudgetCharge[] | undefined {
    if (!budgets || budgets.length === 0) return undefined;
    return chargesAt(budgets, { at, prices: this.#options.costsOf(model)?.prices ?? {} });
  }

  /**
   * Reserves the input, as far as it can be estimated, and of the output the first tokens, or all that the model may make without showing it, or what is
   * left, for a minute: from then on the worker does.
   * @throws RepriseError `budget_exceeded` with the budget's name; `budget_unpriced`; `budget_unavailable`
   */
  async reserve(
    { tenant, generation }: GenerationRef,
    charges: readonly BudgetCharge[] | undefined,
    request: GenerationRequest,
    media?: MediaMap,
  ): Promise<void> {
    if (!charges) return;
    const input = estimateInputTokens(request, media);
    const claims = this.#toClaims(tenant, charges, { request, input });
    const { refused, grants } = await this.#options.ledger.reserve(generation, claims);
    if (!refused) return;
    const isUnknown = grants.some(({ isAlone }) => isAlone);
    this.#options.onRefused(tenant, isUnknown ? "unavailable" : "exceeded");
    const param = refused.name;
    if (isUnknown) {
      const message = `What is left of the budget ${param} is not known now.`;
      throw new RepriseError("budget_unavailable", message, { param, retryAfterMs: UNAVAILABLE_RETRY_MS });
    }
    const { limit, endsAtMs } = refused;
    const charge = charges.find(({ name }) => name === refused.name);
    const until = endsAtMs === undefined ? "" : ` until ${new Date(endsAtMs).toISOString()}`;
    const message = `The budget ${param} of ${formatUnits({ money: charge?.money }, limit)}${until} has less left than the request needs.`;
    const retryAfterMs = endsAtMs === undefined ? undefined : Math.max(0, endsAtMs - unixNow());
    throw new RepriseError("budget_exceeded", message, { param, retryAfterMs });
  }

  #toClaims(
    tenant: TenantId,
    charges: readonly BudgetCharge[],
    { request, input }: { request: GenerationRequest; input: number },
  ): BudgetReservation[] {
    const slice = Math.min(request.max_output_tokens ?? FIRST_SLICE, FIRST_SLICE);
    // A fallback without a price must not be found out by the worker, in mid-stream.
    const { models = [request.model], unseen = 0 } = this.#options.costsOf(request.model) ?? {};
    const hidden = Math.min(unseen, request.max_output_tokens ?? unseen);
    return accountsOf(tenant, charges).map((account, i) => {
      const charge = charges[i];
      const [meter] = charge ? this.#metersOf(tenant, charge, models) : [];
      const unitsOf = (output: number) => meter?.unitsOf({ input, cachedInput: 0, output }) ?? 0;
      const want = unitsOf(Math.max(slice, hidden));
      return { account, used: 0, want, need: unitsOf(1), ...(hidden > 0 && { least: unitsOf(hidden) }) };
    });
  }

  #metersOf(tenant: TenantId, charge: BudgetCharge, models: readonly string[]): BudgetMeter[] {
    try {
      return models.map((model) => meterOf(charge, model));
    } catch (error) {
      this.#options.onRefused(tenant, "unpriced");
      throw error;
    }
  }

  /** The create has failed, and nothing of its generation is stored. */
  abandoned({ tenant, generation }: GenerationRef, charges: readonly BudgetCharge[] | undefined): void {
    if (!charges) return;
    const claims = accountsOf(tenant, charges).map((account) => ({ account, used: 0, want: 0 }));
    this.#options.ledger.claim(generation, claims).catch(this.#options.onError);
  }
}

const UNAVAILABLE_RETRY_MS = 2_000;
