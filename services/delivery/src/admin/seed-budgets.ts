import type { AnalyticsClient } from "@reprise/broker";
import { parseWith, type TenantId } from "@reprise/protocol";
import {
  accountsOf,
  type Budget,
  type BudgetLedger,
  chargesAt,
  formatUnits,
  startOf,
  unitsOfCost,
} from "@reprise/tenancy";
import * as z from "zod";

/** Used amount of one budget in the present period, before and after seeding; amounts with their unit. */
interface SeededBudget {
  readonly object: "seeded_budget";
  readonly name: string;
  readonly period: string;
  readonly limit: string;
  readonly used_before: string;
  readonly used: string;
  /** For a budget in money: generations whose model has no price. They count as free. */
  readonly unpriced: number;
}

interface SeedBudgets {
  readonly tenant: TenantId;
  readonly budgets: readonly Budget[];
  readonly ledger: Pick<BudgetLedger, "seed">;
  readonly analytics: AnalyticsClient;
  readonly at: Date;
}

const DAY_MS = 86_400_000;
/** Days counted for a budget without periods: the longest range that analytics accepts. */
const MAX_DAYS = 400;

const usageSchema = z.object({
  data: z.array(
    z.object({
      input_tokens: z.int(),
      output_tokens: z.int(),
      cost: z.record(z.string(), z.string()),
      unpriced: z.int(),
    }),
  ),
});

interface Used {
  readonly endedMs: number;
  readonly tokens: number;
  readonly cost: Readonly<Record<string, string>>;
  readonly unpriced: number;
}

/**
 * Tells a ledger that has lost its data what analytics' rows say of the present periods. Rows are by the ends of generations and budgets by their creation, so one that was created in the
 * last period and has ended in this one counts too.
 * @throws RepriseError `analytics_unavailable`, `budget_unavailable`
 */
export async function seedBudgets(options: SeedBudgets): Promise<SeededBudget[]> {
  const { tenant, budgets, ledger, at } = options;
  if (budgets.length === 0) return [];
  const oldestMs = at.getTime() - MAX_DAYS * DAY_MS;
  const periods = budgets.map((budget) => ({
    budget,
    startMs: startOf(budget.period, at)?.getTime() ?? oldestMs,
  }));
  const slices = await readUsage(
    options,
    periods.map(({ startMs }) => startMs),
  );
  const used = periods.map(({ budget, startMs }) => {
    const own = slices.filter(({ endedMs }) => endedMs >= startMs);
    return {
      ended: own.reduce((sum, slice) => sum + unitsOf(budget, slice), 0),
      unpriced: budget.unit === "money" ? own.reduce((sum, { unpriced }) => sum + unpriced, 0) : 0,
    };
  });
  const charges = chargesAt(budgets, { at, prices: {} });
  const seeded = await ledger.seed(
    accountsOf(tenant, charges).map((account, i) => ({ account, ended: used[i]?.ended ?? 0 })),
  );
  return charges.map((charge, i) => ({
    object: "seeded_budget",
    name: charge.name,
    period: charge.period,
    limit: formatUnits(charge, charge.limit),
    used_before: formatUnits(charge, seeded[i]?.before ?? 0),
    used: formatUnits(charge, seeded[i]?.after ?? 0),
    unpriced: used[i]?.unpriced ?? 0,
  }));
}

/** Asked for in parts that begin with each of the starts, and of a day at most: analytics bounds the rows of one question. */
async function readUsage({ tenant, analytics, at }: SeedBudgets, starts: readonly number[]): Promise<Used[]> {
  const slices: Used[] = [];
  const endMs = at.getTime();
  for (let fromMs = Math.min(...starts); fromMs < endMs;) {
    const next = starts.filter((startMs) => startMs > fromMs);
    const toMs = Math.min(fromMs + DAY_MS, ...next, endMs);
    const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
    const { data } = parseWith(
      usageSchema,
      JSON.parse(await analytics.ask("usage", { tenant, from, to })),
      "usage",
    );
    for (const { input_tokens: input, output_tokens: output, cost, unpriced } of data)
      slices.push({ endedMs: fromMs, tokens: input + output, cost, unpriced });
    fromMs = toMs;
  }
  return slices;
}

function unitsOf(budget: Budget, { tokens, cost }: Used): number {
  return budget.unit === "tokens" ? tokens : unitsOfCost(cost[budget.currency] ?? "0");
}
