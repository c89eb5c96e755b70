import {
  type BudgetCharge,
  type GenerationRef,
  type GenerationRequest,
  RepriseError,
  unixNow,
} from "@reprise/protocol";
import {
  accountsOf,
  type BudgetLedger,
  type BudgetReservation,
  chargesAt,
  estimateInputTokens,
  FIRST_SLICE,
  formatUnits,
  meterOf,
  type Principal,
} from "@reprise/tenancy";
import type { ModelCosts } from "./model-prices.ts";

export interface RequestBudgetsOptions {
  ledger: BudgetLedger;
  /** What a model costs, by its public name; undefined where that is not known. */
  costsOf: (model: string) => ModelCosts | undefined;
  /** Called when a budget refuses a create. */
  onRefused: () => void;
  onError: (error: unknown) => void;
}

/** Admits generations by their tenant's budgets. A create is one round trip to the ledger, and none where the tenant has no budget. */
export class RequestBudgets {
  readonly #options: RequestBudgetsOptions;

  constructor(options: RequestBudgetsOptions) {
    this.#options = options;
  }

  /** What a generation that is created now is counted against; undefined where the tenant has no budget. */
  chargesOf({ budgets }: Principal, model: string, at: Date): readonly BudgetCharge[] | undefined {
    if (!budgets || budgets.length === 0) return undefined;
    return chargesAt(budgets, { at, prices: this.#options.costsOf(model)?.prices ?? {} });
  }

  /**
   * Reserves the input, as far as it can be estimated, and the first tokens of the output, for a minute: from then on the worker does.
   * @throws RepriseError `budget_exceeded` with the budget's name; `budget_unpriced`; `budget_unavailable`
   */
  async reserve(
    { tenant, generation }: GenerationRef,
    charges: readonly BudgetCharge[] | undefined,
    request: GenerationRequest,
  ): Promise<void> {
    if (!charges) return;
    const { refused, grants } = await this.#options.ledger.reserve(
      generation,
      this.#toClaims(tenant, charges, request),
    );
    if (!refused) return;
    this.#options.onRefused();
    const param = refused.name;
    if (grants.some(({ isAlone }) => isAlone)) {
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
    tenant: GenerationRef["tenant"],
    charges: readonly BudgetCharge[],
    request: GenerationRequest,
  ): BudgetReservation[] {
    const input = estimateInputTokens(request);
    const slice = Math.min(request.max_output_tokens ?? FIRST_SLICE, FIRST_SLICE);
    // A fallback without a price must not be found out by the worker, in mid-stream.
    const { models = [request.model] } = this.#options.costsOf(request.model) ?? {};
    return accountsOf(tenant, charges).map((account, i) => {
      const charge = charges[i];
      const [meter] = charge ? models.map((model) => meterOf(charge, model)) : [];
      const unitsOf = (output: number) => meter?.unitsOf({ input, cachedInput: 0, output }) ?? 0;
      return { account, used: 0, want: unitsOf(slice), need: unitsOf(1) };
    });
  }

  /** The create has failed, and nothing of its generation is stored. */
  abandoned({ tenant, generation }: GenerationRef, charges: readonly BudgetCharge[] | undefined): void {
    if (!charges) return;
    const claims = accountsOf(tenant, charges).map((account) => ({ account, used: 0, want: 0 }));
    this.#options.ledger.claim(generation, claims).catch(this.#options.onError);
  }
}

const UNAVAILABLE_RETRY_MS = 2_000;
