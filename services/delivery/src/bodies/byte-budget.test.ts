import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteBudget, type Reservation } from "./byte-budget.ts";

const MIB = 1_024 * 1_024;

/** Reserves until the tenant's share is used up. */
function take(budget: ByteBudget, tenant: string, bytes = MIB): Reservation[] {
  const got: Reservation[] = [];
  for (let one = budget.reserve(tenant, bytes); one; one = budget.reserve(tenant, bytes)) got.push(one);
  return got;
}

test("a tenant alone gets a third, and another one still has its own share", () => {
  const budget = new ByteBudget(60 * MIB);
  expect(take(budget, "flood")).toHaveLength(20);
  expect(take(budget, "other")).toHaveLength(13);
  expect(budget.held).toBe(33 * MIB);
});

test("what is given back can be had again, and giving it back twice is giving it back once", () => {
  const budget = new ByteBudget(6 * MIB);
  const [first] = take(budget, "a");
  first!.release();
  first!.release();
  expect([budget.held, take(budget, "a").length]).toEqual([MIB, 1]);
});

test("however tenants come and go, the whole is never exceeded, and a new one gets in after floods", () => {
  const anyStep = fc.record({ tenant: fc.nat(5), bytes: fc.integer({ min: 1, max: MIB }), back: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 300 }), (steps) => {
      const budget = new ByteBudget(32 * MIB);
      const got: Reservation[] = [];
      for (const { tenant, bytes, back } of steps) {
        const one = budget.reserve(`${tenant}`, bytes);
        if (one) got.push(one);
        if (back === 0) got.shift()?.release();
        expect(budget.held).toBeLessThanOrEqual(32 * MIB);
      }
      expect(budget.reserve("new", MIB)).toBeDefined();
      for (const one of got) one.release();
      expect(budget.held).toBe(MIB);
    }),
  );
});
