import { costOf, formatCost, type Price, type PricedTokens } from "@reprise/facts";
import { type BudgetCharge, RepriseError } from "@reprise/protocol";

/*
 * The one place where tokens become units of a budget: tokens, or 10^-9 of a currency's unit. Ledgers count whole numbers that a double holds exactly, which is what Redis's
 * scripts have; 10^-12, in which a price is exact, would leave them 9,000 of a currency's units.
 */

const NANO_DIGITS = 9;
const PICO_DIGITS = 12;
const PICO_PER_NANO = 1_000n;
/** 4,000,000 of a currency's units: what is used beyond a limit still fits into 2^53. */
export const MAX_MONEY_UNITS = 4_000_000_000_000_000;

/** Converts the tokens of a generation to units of a budget, for one model. */
export interface BudgetMeter {
  /** Returns the units of a total of tokens; money is rounded up, once. */
  unitsOf(tokens: PricedTokens): number;
  /** With how many tokens of output, all in all, a generation stays within these units; infinity where output costs nothing. */
  outputWithin(units: number, input: Omit<PricedTokens, "output">): number;
}

const TOKENS: BudgetMeter = {
  unitsOf: ({ input, output }) => input + output,
  outputWithin: (units, { input }) => Math.max(0, units - input),
};

/**
 * @param model the public name of the one that serves
 * @throws RepriseError `budget_unpriced`
 */
export function meterOf({ name, money }: BudgetCharge, model: string): BudgetMeter {
  if (!money) return TOKENS;
  const price = Object.hasOwn(money.prices, model) ? money.prices[model] : undefined;
  if (price) return moneyMeter({ ...price, currency: money.currency });
  // Without the model's name: what ends a generation has no word of its request, and a fallback is not the tenant's business.
  const message = `The budget ${name} is in ${money.currency}, in which the model, or its fallback, has no price.`;
  throw new RepriseError("budget_unpriced", message, { param: name });
}

/** An amount as people read it: `50000 tokens`, `250 EUR`. */
export function formatUnits({ money }: Pick<BudgetCharge, "money">, units: number): string {
  return money ? `${formatCost(BigInt(units) * PICO_PER_NANO)} ${money.currency}` : `${units} tokens`;
}

/** @param text a decimal text with at most nine decimals */
export function parseMoney(text: string): number {
  const [whole = "0", decimals = ""] = text.split(".");
  return Number(whole + decimals.padEnd(NANO_DIGITS, "0"));
}

/** @param cost what metering's `formatCost` gives */
export function unitsOfCost(cost: string): number {
  const [whole = "0", decimals = ""] = cost.split(".");
  const pico = BigInt(whole + decimals.padEnd(PICO_DIGITS, "0"));
  return Number((pico + PICO_PER_NANO - 1n) / PICO_PER_NANO);
}

function moneyMeter(price: Price): BudgetMeter {
  const picoPerOutput = costOf(price, { input: 0, cachedInput: 0, output: 1 });
  return {
    unitsOf(tokens) {
      const nano = (costOf(price, tokens) + PICO_PER_NANO - 1n) / PICO_PER_NANO;
      return Math.min(Number(nano), MAX_MONEY_UNITS);
    },
    outputWithin(units, input) {
      const left = BigInt(units) * PICO_PER_NANO - costOf(price, { ...input, output: 0 });
      if (left < 0n) return 0;
      return picoPerOutput === 0n ? Number.POSITIVE_INFINITY : Number(left / picoPerOutput);
    },
  };
}
