import { pause } from "@reprise/async";
import {
  type BudgetCharge,
  effectiveRequest,
  estimateInputTokens,
  type GenerationRef,
  RepriseError,
  type RequestedEvent,
  type TenantId,
  type Usage,
} from "@reprise/protocol";
import type { UnseenOutput } from "../engines/engine.ts";
import {
  accountsOf,
  type BudgetAccount,
  type BudgetLedger,
  type BudgetMeter,
  FIRST_SLICE,
  formatUnits,
  meterOf,
  MIN_SLICE,
} from "@reprise/tenancy";

export interface RunBudgetOptions {
  readonly ledger: BudgetLedger;
  readonly ref: GenerationRef;
  readonly requested: RequestedEvent | undefined;
  readonly onCutOff: (tenant: TenantId) => void;
  readonly onError: (error: unknown) => void;
}

/** A grant expires after 60 s without a claim. */
const RENEW_MS = 20_000;
/** Pause of a run before it asks a ledger again that does not know the rest. */
const UNKNOWN_PAUSE_MS = 1_000;

/** @returns undefined for a generation that no budget counts: that one costs nothing */
export function createRunBudget({
  ledger,
  ref,
  requested,
  onCutOff,
  onError,
}: RunBudgetOptions): RunBudget | undefined {
  const { budgets: charges, request } = requested ?? {};
  if (!requested || !charges || charges.length === 0 || !request) return undefined;
  return new RunBudget({
    ledger,
    generation: ref.generation,
    charges,
    accounts: accountsOf(ref.tenant, charges),
    model: request.model,
    estimate: estimateInputTokens(effectiveRequest(requested), requested.media),
    maxOutput: request.max_output_tokens ?? Number.POSITIVE_INFINITY,
    onCutOff: () => onCutOff(ref.tenant),
    onError,
  });
}

interface Options {
  readonly ledger: BudgetLedger;
  readonly generation: string;
  readonly charges: readonly BudgetCharge[];
  /** The accounts of the charges, in their order. */
  readonly accounts: readonly BudgetAccount[];
  /** The one that was asked for. */
  readonly model: string;
  /** The estimated tokens of the input, until the engine counts them. */
  readonly estimate: number;
  /** Tokens of output that the request asks for at most. */
  readonly maxOutput: number;
  readonly onCutOff: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Limits a run to its tenant's budgets. The ledger grants slices, and the run asks for the next one when half of a slice is left, so an engine waits for the
 * ledger only if that is slow or
 * nearly used up. An engine exceeds the last grant by one chunk at most: the run ends there. Hidden output is granted before the engine is asked, and the
 * engine is asked for
 * at most that much if less is left, or if its model's maximum is known.
 */
export class RunBudget implements Disposable {
  readonly #options: Options;
  readonly #spent = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** Tokens of output, over all turns and attempts, and so is what is granted: budgets in money are turned into tokens when a grant comes. */
  #said = 0;
  #granted = 0;
  #input: number;
  #cachedInput = 0;
  /** The estimate of streamed input, and the input that the ledger knows. */
  #streamed = 0;
  #claimedInput = 0;
  #isInputKnown = false;
  /** The meters of the accounts, in their order; undefined until an engine is to be asked. */
  #meters: readonly BudgetMeter[] | undefined;
  #claim: Promise<void> | undefined;
  /** The budget that has nothing left; undefined while all have, or that is not known. */
  #exhausted: BudgetAccount | undefined;
  /** The budget that grants least. */
  #scarcest: BudgetAccount | undefined;
  /** Up to where output is granted that may be made unseen: counted as `#said`. */
  #unseenTo = 0;
  /** True if no more than that is made. */
  #isMost = false;
  #isShort = false;
  #isSettled = false;

  constructor(options: Options) {
    this.#options = options;
    this.#input = options.estimate;
    this.#timer = setInterval(() => void this.#ask(), RENEW_MS);
    this.#timer.unref();
  }

  /** Aborted when a budget is used up. */
  get spent(): AbortSignal {
    return this.#spent.signal;
  }

  /** The most tokens of output that the engine is to be asked for now; undefined where it need not be told. */
  mostOutput(): number | undefined {
    const granted = this.#granted - this.#said;
    const unseen = this.#unseenTo - this.#said;
    this.#isShort = granted < unseen;
    return this.#isShort || this.#isMost ? Math.min(granted, unseen) : undefined;
  }

  /** True if the engine was asked for less than it may make, because no more was left. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /**
   * Before an engine is asked.
   * @param usage what the log says was used so far
   * @param model the public name of the one that serves from now on: all is priced as its own
   * @param unseen what that one may make without showing it
   * @throws RepriseError `budget_unpriced`
   */
  async begin(usage: Usage, model: string, unseen?: UnseenOutput): Promise<void> {
    this.#meters = this.#options.charges.map((charge) => meterOf(charge, model));
    this.#take(usage);
    this.#unseenTo = this.#said + Math.min(unseen?.tokens ?? 0, this.#options.maxOutput);
    this.#isMost = unseen?.isMost ?? false;
    this.#granted = Math.min(this.#granted, this.#said);
    // One that is under way was asked for by what was known before.
    await this.#claim;
    await this.#ask();
    if (this.#isOver()) this.#cutOff();
  }

  said(tokens: number): void {
    this.#said += tokens;
    if (this.#granted - this.#said < FIRST_SLICE / 2) void this.#ask();
  }

  /** The engine has counted the input. What a log says of it first stays. */
  counted(input: number | undefined, cachedInput: number | undefined): void {
    if (this.#isInputKnown) return;
    this.#isInputKnown = input !== undefined;
    this.#input = input ?? this.#input;
    this.#cachedInput = cachedInput ?? this.#cachedInput;
    void this.#ask();
  }

  /** Streamed input was consumed, this much so far by an estimate: until the engine counts it. */
  estimated(input: number): void {
    this.#streamed = Math.max(this.#streamed, input);
    if (this.#isInputKnown || input <= this.#input) return;
    this.#input = input;
    if (input - this.#claimedInput >= FIRST_SLICE) void this.#ask();
  }

  /** Undefined while the engine may continue; else resolves when it may, or the budget is used up, or the signal is aborted. */
  hold(signal: AbortSignal): Promise<void> | undefined {
    return this.#said < this.#granted ? undefined : this.#untilGranted(signal);
  }

  /** The generation has ended. */
  async settle(usage: Usage): Promise<void> {
    this.#isSettled = true;
    const { ledger, generation, onError } = this.#options;
    this.#take(usage);
    // No engine has read it: the input was estimated for nothing. Metering counts none of it either.
    if (usage.input_tokens === null && usage.output_tokens === 0) this.#input = 0;
    const uses = this.#accounts().map(([account, meter]) => ({
      account,
      used: this.#unitsOf(meter, this.#said),
    }));
    await ledger.settle(generation, uses).catch(onError);
  }

  /** The engine has made all that was left of a budget. */
  cutShort(): RepriseError {
    this.#options.onCutOff();
    return this.toError();
  }

  /** Returns the error of a generation whose budget is used up. */
  toError(): RepriseError {
    const { name: param = "", limit = 0 } = this.#exhausted ?? this.#scarcest ?? {};
    const charge = this.#options.charges.find(({ name }) => name === param);
    const message = `The budget ${param} of ${formatUnits({ money: charge?.money }, limit)} is used up.`;
    return new RepriseError("budget_exceeded", message, { param });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #untilGranted(signal: AbortSignal): Promise<void> {
    while (this.#said >= this.#granted && !signal.aborted) {
      // One that is under way was asked for before the last tokens were said.
      await this.#claim;
      if (this.#said < this.#granted) return;
      await this.#ask();
      if (this.#isOver()) return this.#cutOff();
      if (this.#said >= this.#granted) await pause(UNKNOWN_PAUSE_MS, signal);
    }
  }

  #cutOff(): void {
    if (this.#spent.signal.aborted) return;
    this.#options.onCutOff();
    this.#spent.abort();
  }

  #isOver(): boolean {
    return this.#said >= this.#granted && this.#exhausted !== undefined;
  }

  /** One claim at a time. */
  #ask(): Promise<void> {
    this.#claim ??= this.#claimMore().finally(() => (this.#claim = undefined));
    return this.#claim;
  }

  async #claimMore(): Promise<void> {
    if (this.#isSettled || !this.#meters) return;
    const { ledger, generation, onError } = this.#options;
    const said = this.#said;
    const input = { input: this.#input, cachedInput: this.#cachedInput };
    this.#claimedInput = this.#input;
    const accounts = this.#accounts();
    try {
      const grants = await ledger.claim(
        generation,
        accounts.map(([account, meter]) => {
          const used = this.#unitsOf(meter, said);
          const sliceOf = (tokens: number) => this.#unitsOf(meter, said + tokens) - used;
          const unseen = this.#unseenTo - said;
          return {
            account,
            used,
            want: sliceOf(Math.max(FIRST_SLICE, unseen)),
            least: sliceOf(Math.max(MIN_SLICE, unseen)),
          };
        }),
      );
      const within = grants.map(({ granted }, i) => accounts[i]?.[1].outputWithin(granted, input) ?? said);
      this.#granted = Math.min(...within);
      this.#scarcest = accounts[within.indexOf(this.#granted)]?.[0];
      const i = grants.findIndex(({ isAlone }, at) => (within[at] ?? said) <= said && !isAlone);
      this.#exhausted = accounts[i]?.[0];
    } catch (error) {
      onError(error);
    }
  }

  #take({ input_tokens: input, cached_input_tokens: cached, output_tokens: output }: Usage): void {
    this.#said = output;
    this.#input = input ?? Math.max(this.#options.estimate, this.#streamed);
    this.#cachedInput = cached ?? 0;
    this.#isInputKnown = input !== null;
  }

  #accounts(): (readonly [BudgetAccount, BudgetMeter])[] {
    const { accounts } = this.#options;
    const meters = this.#meters ?? this.#metersOfRequest();
    return accounts.flatMap((account, i) => {
      const meter = meters[i];
      return meter ? [[account, meter] as const] : [];
    });
  }

  /** For an end before an engine was to be asked. Without a price nothing was used: an engine is not asked. */
  #metersOfRequest(): readonly BudgetMeter[] {
    const { charges, model, onError } = this.#options;
    try {
      return charges.map((charge) => meterOf(charge, model));
    } catch (error) {
      onError(error);
      return [];
    }
  }

  #unitsOf(meter: BudgetMeter, output: number): number {
    return meter.unitsOf({ input: this.#input, cachedInput: this.#cachedInput, output });
  }
}
