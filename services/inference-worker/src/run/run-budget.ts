import { pause } from "@reprise/async";
import { type GenerationRef, RepriseError, type RequestedEvent, type Usage } from "@reprise/protocol";
import {
  accountsOf,
  type BudgetAccount,
  type BudgetLedger,
  estimateInputTokens,
  FIRST_SLICE,
} from "@reprise/tenancy";

export interface RunBudgetOptions {
  readonly ledger: BudgetLedger;
  readonly ref: GenerationRef;
  readonly requested: RequestedEvent | undefined;
  readonly onError: (error: unknown) => void;
}

/** A grant expires after 60 s without a claim. */
const RENEW_MS = 20_000;
/** How long a run waits for a ledger that does not know what is left. */
const UNKNOWN_PAUSE_MS = 1_000;

/** @returns undefined for a generation that no budget counts: that one costs nothing */
export function createRunBudget({
  ledger,
  ref,
  requested,
  onError,
}: RunBudgetOptions): RunBudget | undefined {
  const { budgets: charges, request } = requested ?? {};
  if (!charges || charges.length === 0 || !request) return undefined;
  const accounts = accountsOf(ref.tenant, charges);
  return new RunBudget({
    ledger,
    generation: ref.generation,
    accounts,
    estimate: estimateInputTokens(request),
    onError,
  });
}

interface Options {
  readonly ledger: BudgetLedger;
  readonly generation: string;
  readonly accounts: readonly BudgetAccount[];
  /** Of the input, for as long as the engine does not count it. */
  readonly estimate: number;
  readonly onError: (error: unknown) => void;
}

/**
 * What a run may use of its tenant's budgets. It is granted slices, and asks for the next one when half of a slice is left, so an engine waits for the ledger only where that is slow or
 * nearly used up. What the engine says beyond the last grant is one chunk at most: the run ends there.
 */
export class RunBudget implements Disposable {
  readonly #options: Options;
  readonly #spent = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** All in all, in tokens, and so is what is granted. */
  #used = 0;
  #granted = 0;
  #claim: Promise<void> | undefined;
  /** The budget that has nothing left; undefined while all have, or that is not known. */
  #exhausted: BudgetAccount | undefined;
  #isSettled = false;

  constructor(options: Options) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#ask(), RENEW_MS);
    this.#timer.unref();
  }

  /** Aborted when a budget is used up. */
  get spent(): AbortSignal {
    return this.#spent.signal;
  }

  /** Before an engine is asked: what the log says was used so far. */
  async begin(usage: Usage): Promise<void> {
    this.#used = this.#unitsOf(usage);
    this.#granted = Math.min(this.#granted, this.#used);
    await this.#ask();
    if (this.#isOver()) this.#spent.abort();
  }

  said(tokens: number): void {
    this.#used += tokens;
    if (this.#granted - this.#used < FIRST_SLICE / 2) void this.#ask();
  }

  /** Undefined while the engine may go on; else resolves when it may, or the budget is used up, or the signal is aborted. */
  hold(signal: AbortSignal): Promise<void> | undefined {
    return this.#used < this.#granted ? undefined : this.#untilGranted(signal);
  }

  /** The generation has ended. */
  async settle(usage: Usage): Promise<void> {
    this.#isSettled = true;
    const { ledger, generation, accounts, onError } = this.#options;
    const used = this.#unitsOf(usage);
    await ledger
      .settle(
        generation,
        accounts.map((account) => ({ account, used })),
      )
      .catch(onError);
  }

  /** What a generation fails with whose budget is used up. */
  toError(): RepriseError {
    const { name = "", limit = 0 } = this.#exhausted ?? {};
    return new RepriseError("budget_exceeded", `The budget ${name} of ${limit} tokens is used up.`, {
      param: name,
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #untilGranted(signal: AbortSignal): Promise<void> {
    while (this.#used >= this.#granted && !signal.aborted) {
      // One that is under way was asked for before the last tokens were said.
      await this.#claim;
      if (this.#used < this.#granted) return;
      await this.#ask();
      if (this.#isOver()) return this.#spent.abort();
      if (this.#used >= this.#granted) await pause(UNKNOWN_PAUSE_MS, signal);
    }
  }

  #isOver(): boolean {
    return this.#used >= this.#granted && this.#exhausted !== undefined;
  }

  /** One claim at a time. */
  #ask(): Promise<void> {
    this.#claim ??= this.#claimMore().finally(() => (this.#claim = undefined));
    return this.#claim;
  }

  async #claimMore(): Promise<void> {
    if (this.#isSettled) return;
    const { ledger, generation, accounts, onError } = this.#options;
    const used = this.#used;
    try {
      const grants = await ledger.claim(
        generation,
        accounts.map((account) => ({ account, used, want: FIRST_SLICE })),
      );
      this.#granted = Math.min(...grants.map(({ granted }) => granted));
      const i = grants.findIndex(({ granted, isAlone }) => granted <= used && !isAlone);
      this.#exhausted = accounts[i];
    } catch (error) {
      onError(error);
    }
  }

  #unitsOf({ input_tokens: input, output_tokens: output }: Usage): number {
    return (input ?? this.#options.estimate) + output;
  }
}
