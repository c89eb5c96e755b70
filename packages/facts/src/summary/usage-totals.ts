import { costOf, formatCost, type Price } from "../price/price.ts";
import type { GenerationRow } from "../rows/generation-row.ts";

/** The usage of generations. Counts are exact; costs are decimal texts without rounding. */
export interface UsageReport {
  readonly generations: number;
  readonly input_tokens: number;
  /** Number of these that are an estimate. */
  readonly estimated_input_tokens: number;
  readonly cached_input_tokens: number;
  /** Tokens that engines have produced, and those of them that no rewind has taken back. */
  readonly output_tokens: number;
  readonly output_tokens_kept: number;
  readonly reasoning_tokens: number;
  /** By currency, of what was produced. */
  readonly cost: Readonly<Record<string, string>>;
  /** Generations of models without a price: they are in no cost. */
  readonly unpriced: number;
  /** Generations of which events were gone before they were read: their numbers may be others. */
  readonly incomplete: number;
}

/** Sums up what generations have used, at the prices that hold now. */
export class UsageTotals {
  readonly #priceOf: (model: string) => Price | undefined;
  readonly #costs = new Map<string, bigint>();
  #generations = 0;
  #input = 0;
  #estimatedInput = 0;
  #cachedInput = 0;
  #output = 0;
  #outputKept = 0;
  #reasoning = 0;
  #unpriced = 0;
  #incomplete = 0;

  /** @param priceOf by the public name of the model that served, or was asked for where none did */
  constructor(priceOf: (model: string) => Price | undefined) {
    this.#priceOf = priceOf;
  }

  add(row: GenerationRow): void {
    const [input, cachedInput, output] = [
      row.input_tokens ?? 0,
      row.cached_input_tokens ?? 0,
      row.output_tokens,
    ];
    this.#generations++;
    this.#input += input;
    this.#estimatedInput += row.estimated_input_tokens ?? 0;
    this.#cachedInput += cachedInput;
    this.#output += output;
    this.#outputKept += row.output_tokens_kept;
    this.#reasoning += row.reasoning_tokens ?? 0;
    this.#incomplete += Number(row.is_incomplete);
    const price = this.#priceOf(row.model ?? row.requested_model);
    if (price) this.#charge(price.currency, costOf(price, { input, cachedInput, output }));
    else this.#unpriced++;
  }

  merge(other: UsageTotals): void {
    this.#generations += other.#generations;
    this.#input += other.#input;
    this.#estimatedInput += other.#estimatedInput;
    this.#cachedInput += other.#cachedInput;
    this.#output += other.#output;
    this.#outputKept += other.#outputKept;
    this.#reasoning += other.#reasoning;
    this.#unpriced += other.#unpriced;
    this.#incomplete += other.#incomplete;
    for (const [currency, pico] of other.#costs) this.#charge(currency, pico);
  }

  toReport(): UsageReport {
    return {
      generations: this.#generations,
      input_tokens: this.#input,
      estimated_input_tokens: this.#estimatedInput,
      cached_input_tokens: this.#cachedInput,
      output_tokens: this.#output,
      output_tokens_kept: this.#outputKept,
      reasoning_tokens: this.#reasoning,
      cost: Object.fromEntries([...this.#costs].map(([currency, pico]) => [currency, formatCost(pico)])),
      unpriced: this.#unpriced,
      incomplete: this.#incomplete,
    };
  }

  #charge(currency: string, pico: bigint): void {
    this.#costs.set(currency, (this.#costs.get(currency) ?? 0n) + pico);
  }
}
