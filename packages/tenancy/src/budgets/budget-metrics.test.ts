import { parseTenantId } from "@reprise/protocol";
import { createMetrics } from "@reprise/runtime";
import { expect, test } from "vitest";
import { BudgetMetrics } from "./budget-metrics.ts";
import { MemoryLedger } from "./memory-ledger.ts";

const accountOf = (tenant: string, period = "2026-11") => ({
  tenant: parseTenantId(tenant),
  name: "month",
  key: `{${tenant}}.month.${period}`,
  limit: 1_000,
  endsAtMs: undefined,
});

function open(maxTenants: number) {
  let nowMs = 0;
  const metrics = createMetrics({ processMetrics: false });
  const budgets = new BudgetMetrics(metrics, { maxTenants, now: () => nowMs });
  const ledger = budgets.watch(new MemoryLedger());
  const use = (tenant: string, used: number, period?: string) =>
    ledger.claim(`${tenant} ${used}`, [{ account: accountOf(tenant, period), used, want: 0 }]);
  const series = async (name: string) =>
    (await metrics.render()).split("\n").filter((line) => line.startsWith(name));
  return { budgets, ledger, use, series, pass: (ms: number) => (nowMs += ms) };
}

test("the share of a limit that is used is told by tenant, of a limited number, and the largest of the others", async () => {
  const { use, series } = open(1);
  await use("acme", 250);
  await use("b", 800);
  await use("c", 100);
  expect(await series("reprise_budget_used_ratio")).toEqual([
    'reprise_budget_used_ratio{tenant="acme",budget="month"} 0.25',
    'reprise_budget_used_ratio{tenant="other",budget="other"} 0.8',
  ]);
});

test("a share that no claim has confirmed for ten minutes is told no more", async () => {
  const { use, series, pass } = open(10);
  await use("acme", 250);
  pass(599_999);
  expect(await series("reprise_budget_used_ratio")).toHaveLength(1);
  pass(1);
  expect(await series("reprise_budget_used_ratio")).toEqual([]);
});

test("a generation of the last period does not hide the share of this one", async () => {
  const { use, series } = open(10);
  await use("acme", 100, "2026-12");
  await use("acme", 900, "2026-11");
  expect(await series("reprise_budget_used_ratio")).toEqual([
    'reprise_budget_used_ratio{tenant="acme",budget="month"} 0.1',
  ]);
});

test("refusals and cut-offs of a tenant are counted from 0 on, and claims that were answered alone", async () => {
  const { budgets, use, series } = open(10);
  await use("acme", 1);
  expect(await series("reprise_budget_refusals_total")).toEqual([
    'reprise_budget_refusals_total{tenant="acme",reason="exceeded"} 0',
  ]);
  budgets.refused("acme", "exceeded");
  budgets.cutOff("acme");
  expect(await series("reprise_budget_refusals_total")).toEqual([
    'reprise_budget_refusals_total{tenant="acme",reason="exceeded"} 1',
  ]);
  expect(await series("reprise_budget_cut_offs_total")).toEqual([
    'reprise_budget_cut_offs_total{tenant="acme"} 1',
  ]);
  const memory = new MemoryLedger();
  const ledger = budgets.watch({
    reserve: (generation, claims) => memory.reserve(generation, claims),
    settle: (generation, uses) => memory.settle(generation, uses),
    seed: (seeds) => memory.seed(seeds),
    claim: async () => [{ granted: 0, remaining: 0, isAlone: true }],
  });
  await ledger.claim("a", [{ account: accountOf("acme"), used: 0, want: 0 }]);
  expect(await series("reprise_budget_ledger_errors_total")).toEqual([
    "reprise_budget_ledger_errors_total 1",
  ]);
  // What this process does not know is no share.
  expect(await series("reprise_budget_used_ratio")).toEqual([
    'reprise_budget_used_ratio{tenant="acme",budget="month"} 0.001',
  ]);
});
