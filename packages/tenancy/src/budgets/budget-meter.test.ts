import { costOf } from "@reprise/facts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatUnits, MAX_MONEY_UNITS, meterOf } from "./budget-meter.ts";
import { budgetsSchema } from "./budget-settings.ts";

const chargeOf = (price: { input: string; cached_input?: string; output: string }) => ({
  name: "month",
  limit: 5_000_000_000,
  period: "2026-11",
  money: { currency: "EUR", prices: { sim: price } },
});

const amount = fc
  .tuple(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 999_999 }))
  .map(([whole, decimals]) => `${whole}.${`${decimals}`.padStart(6, "0")}`);
const count = fc.integer({ min: 0, max: 2_000_000 });

test("money is what metering says that tokens cost, rounded up to a billionth once", () => {
  fc.assert(
    fc.property(amount, amount, amount, count, count, count, (input, cached, output, a, b, c) => {
      const price = { input, cached_input: cached, output };
      const tokens = { input: a, cachedInput: b, output: c };
      const pico = costOf({ ...price, currency: "EUR" }, tokens);
      const nano = BigInt(meterOf(chargeOf(price), "sim").unitsOf(tokens));
      expect(nano * 1_000n).toBeGreaterThanOrEqual(pico);
      expect(nano * 1_000n - pico).toBeLessThan(1_000n);
    }),
  );
});

test("an amount pays for a whole number of output tokens, and not one more", () => {
  fc.assert(
    fc.property(amount, amount, count, fc.integer({ min: 0, max: 1e13 }), (input, output, said, units) => {
      const meter = meterOf(chargeOf({ input, output }), "sim");
      const asked = { input: said, cachedInput: 0 };
      const within = meter.outputWithin(units, asked);
      fc.pre(Number.isFinite(within) && within < 1e9);
      expect(within === 0 || meter.unitsOf({ ...asked, output: within }) <= units).toBe(true);
      expect(meter.unitsOf({ ...asked, output: within + 1 })).toBeGreaterThan(units);
    }),
  );
});

test("output that costs nothing uses no money up", () => {
  const meter = meterOf(chargeOf({ input: "1", output: "0" }), "sim");
  expect(meter.outputWithin(1_000, { input: 1, cachedInput: 0 })).toBe(Number.POSITIVE_INFINITY);
});

test("an amount beyond all limits stays a number that a ledger counts exactly", () => {
  const meter = meterOf(chargeOf({ input: "999999999", output: "999999999" }), "sim");
  expect(meter.unitsOf({ input: 1e12, cachedInput: 0, output: 1e12 })).toBe(MAX_MONEY_UNITS);
});

test("a model without a price is a typed error that names the budget", () => {
  const charge = chargeOf({ input: "1", output: "1" });
  expect(() => meterOf(charge, "other")).toThrow(
    expect.objectContaining({ code: "budget_unpriced", param: "month", retryable: false }),
  );
  expect(() => meterOf(charge, "toString")).toThrow(expect.objectContaining({ code: "budget_unpriced" }));
});

test("amounts are told as decimal texts with their currency", () => {
  expect(formatUnits(chargeOf({ input: "1", output: "1" }), 5_250_000_001)).toBe("5.250000001 EUR");
  expect(formatUnits({}, 500)).toBe("500 tokens");
});

test.each(["0", "0.000", "4000000.01", "1e3", "-1", "1.0000000001", " 1", 5])(
  "%j is no limit in money",
  (limit) => {
    const budget = { name: "month", unit: "money", currency: "EUR", limit, period: "month" };
    expect(budgetsSchema.safeParse([budget]).success).toBe(false);
  },
);

test.each(["0.000000001", "250", "250.00", "4000000"])("%j is a limit in money", (limit) => {
  const budget = { name: "month", unit: "money", currency: "EUR", limit, period: "month" };
  expect(budgetsSchema.safeParse([budget]).success).toBe(true);
});
