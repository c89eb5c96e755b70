import * as z from "zod";

/** Digits of the price of one token: a millionth of a millionth of the currency's unit, so prices of a million tokens with six decimals are whole. */
const PICO_DIGITS = 12;
const TOKENS_DIGITS = 6;
const MAX_DECIMALS = PICO_DIGITS - TOKENS_DIGITS;

const amount = z
  .string()
  .regex(
    /^(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?$/,
    'must be a decimal text with at most six decimals, such as "0.15"',
  );

/** The price of a million tokens of a model, as decimal texts: numbers of JSON are no exact amounts. */
export const priceSchema = z.strictObject({
  /** ISO 4217. */
  currency: z.string().regex(/^[A-Z]{3}$/, "must be three capital letters"),
  input: amount,
  /** Price of the input tokens that the engine had in its cache. Default: as `input`. */
  cached_input: amount.optional(),
  output: amount,
});
export type Price = z.infer<typeof priceSchema>;

/** The tokens that are paid for. Tokens of reasoning are part of the output's. */
export interface PricedTokens {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

/** Returns the exact cost of tokens, in 10^-12 of the currency's unit. */
export function costOf({ input, cached_input: cached = input, output }: Price, tokens: PricedTokens): bigint {
  const fromCache = Math.min(tokens.cachedInput, tokens.input);
  return (
    BigInt(tokens.input - fromCache) * picoPerToken(input) +
    BigInt(fromCache) * picoPerToken(cached) +
    BigInt(tokens.output) * picoPerToken(output)
  );
}

/** A decimal text without an exponent; `0` for nothing. */
export function formatCost(pico: bigint): string {
  const digits = (pico < 0n ? -pico : pico).toString().padStart(PICO_DIGITS + 1, "0");
  const decimals = digits.slice(-PICO_DIGITS).replace(/0+$/, "");
  const sign = pico < 0n ? "-" : "";
  return `${sign}${digits.slice(0, -PICO_DIGITS)}${decimals === "" ? "" : `.${decimals}`}`;
}

function picoPerToken(perMillion: string): bigint {
  const [whole = "0", decimals = ""] = perMillion.split(".");
  return BigInt(whole + decimals.padEnd(MAX_DECIMALS, "0"));
}
