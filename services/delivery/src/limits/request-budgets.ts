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
  chargesAt,
  estimateInputTokens,
  FIRST_SLICE,
  type Principal,
} from "@reprise/tenancy";

export interface RequestBudgetsOptions {
  ledger: BudgetLedger;
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
  chargesOf({ budgets }: Principal, now: Date): readonly BudgetCharge[] | undefined {
    return budgets && budgets.length > 0 ? chargesAt(budgets, now) : undefined;
  }

  /**
   * Reserves the input, as far as it can be estimated, and the first tokens of the output, for a minute: from then on the worker does.
   * @throws RepriseError `budget_exceeded` with the budget's name; `budget_unavailable`
   */
  async reserve(
    { tenant, generation }: GenerationRef,
    charges: readonly BudgetCharge[] | undefined,
    request: GenerationRequest,
  ): Promise<void> {
    if (!charges) return;
    const input = estimateInputTokens(request);
    const output = Math.min(request.max_output_tokens ?? FIRST_SLICE, FIRST_SLICE);
    const { refused, grants } = await this.#options.ledger.reserve(
      generation,
      accountsOf(tenant, charges).map((account) => ({
        account,
        used: 0,
        want: input + output,
        need: input + 1,
      })),
    );
    if (!refused) return;
    this.#options.onRefused();
    const param = refused.name;
    if (grants.some(({ isAlone }) => isAlone)) {
      const message = `What is left of the budget ${param} is not known now.`;
      throw new RepriseError("budget_unavailable", message, { param, retryAfterMs: UNAVAILABLE_RETRY_MS });
    }
    const { limit, endsAtMs } = refused;
    const until = endsAtMs === undefined ? "" : ` until ${new Date(endsAtMs).toISOString()}`;
    const message = `The budget ${param} of ${limit} tokens${until} has less left than the request needs.`;
    const retryAfterMs = endsAtMs === undefined ? undefined : Math.max(0, endsAtMs - unixNow());
    throw new RepriseError("budget_exceeded", message, { param, retryAfterMs });
  }

  /** The create has failed, and nothing of its generation is stored. */
  abandoned({ tenant, generation }: GenerationRef, charges: readonly BudgetCharge[] | undefined): void {
    if (!charges) return;
    const claims = accountsOf(tenant, charges).map((account) => ({ account, used: 0, want: 0 }));
    this.#options.ledger.claim(generation, claims).catch(this.#options.onError);
  }
}

const UNAVAILABLE_RETRY_MS = 2_000;
