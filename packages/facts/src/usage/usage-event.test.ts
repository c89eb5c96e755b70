import fc from "fast-check";
import { expect, test } from "vitest";
import { GenerationFold } from "../fold/generation-fold.ts";
import { history } from "../fold/history.fixture.ts";
import { costOf, formatCost, type Price, priceSchema } from "../price/price.ts";
import { toUsageEvent } from "./usage-event.ts";

const PRICE: Price = { currency: "USD", input: "0.15", cached_input: "0.075", output: "0.6" };
const REF = { tenant: "acme", generation: "gen_test" };
const decimal = fc
  .tuple(fc.nat({ max: 999 }), fc.nat({ max: 999_999 }))
  .map(([whole, millionths]) => `${whole}.${String(millionths).padStart(6, "0")}`);

test("a cost is exact", () => {
  expect(formatCost(costOf(PRICE, { input: 1_000, cachedInput: 400, output: 500 }))).toBe("0.00042");
  expect(formatCost(costOf(PRICE, { input: 0, cachedInput: 0, output: 0 }))).toBe("0");
  expect(formatCost(costOf(PRICE, { input: 1, cachedInput: 0, output: 0 }))).toBe("0.00000015");
});

test("costs add up: of all tokens at once it is the sum of those of their parts", () => {
  const tokens = fc.record({ input: fc.nat(), cachedInput: fc.constant(0), output: fc.nat() });
  fc.assert(
    fc.property(decimal, decimal, tokens, tokens, (input, output, a, b) => {
      const price = priceSchema.parse({ currency: "EUR", input, output });
      const both = { input: a.input + b.input, cachedInput: 0, output: a.output + b.output };
      expect(costOf(price, both)).toBe(costOf(price, a) + costOf(price, b));
    }),
  );
});

test("a cost that is written and read again is the same", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), (pico) => {
      const [whole = "", decimals = ""] = formatCost(pico).split(".");
      expect(BigInt(whole + decimals.padEnd(12, "0"))).toBe(pico);
    }),
  );
});

test.each(["1e3", "-1", "0.1234567", "01", ".5", "1.", "", " 1", "1,5", 0.15])("%j is no price", (input) => {
  expect(priceSchema.safeParse({ currency: "USD", input, output: "1" }).success).toBe(false);
});

test("the same log gives the same event, with what was produced and what counts", () => {
  fc.assert(
    fc.property(history, (log) => {
      const rowOf = () => {
        const fold = GenerationFold.begin(REF);
        for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs, ["plan"]);
        return fold.toRow();
      };
      const row = rowOf();
      const event = toUsageEvent(row, { source: "/reprise", price: PRICE });
      expect(toUsageEvent(rowOf(), { source: "/reprise", price: PRICE })).toEqual(event);
      expect(event).toMatchObject({
        specversion: "1.0",
        id: "gen_test",
        subject: "acme",
        data: {
          ...(row.estimated_input_tokens !== null && { estimated_input_tokens: row.estimated_input_tokens }),
          output_tokens: row.output_tokens,
          output_tokens_kept: row.output_tokens_kept,
          metadata: { plan: "gold" },
          currency: "USD",
        },
      });
      expect(Date.parse(event.time)).toBe(Math.floor(row.ended_us / 1_000));
    }),
    { numRuns: 100 },
  );
});
