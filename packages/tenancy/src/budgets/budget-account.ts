import type { Price } from "@reprise/facts";
import type { BudgetCharge, TenantId } from "@reprise/protocol";
import { parseMoney } from "./budget-meter.ts";
import type { Budget, BudgetPeriod } from "./budget-settings.ts";

/** Prices of the models that may serve a generation, by their public names. */
export type ModelPrices = Readonly<Record<string, Price>>;

/** One budget of a tenant in one of its periods: what a ledger keeps. */
export interface BudgetAccount {
  readonly tenant: TenantId;
  readonly name: string;
  readonly key: string;
  readonly limit: number;
  /** When the period ends, by wall-clock milliseconds; undefined for one that never does. */
  readonly endsAtMs: number | undefined;
  /** While the ledger of all processes does not answer, each grants without a bound. What was used counts when it answers again. */
  readonly admitsOnLoss?: boolean;
}

/** Returns the charges of a generation: the periods in which it was created, and the prices at that time, however long it runs. */
export function chargesAt(
  budgets: readonly Budget[],
  { at, prices }: { readonly at: Date; readonly prices: ModelPrices },
): readonly BudgetCharge[] {
  return budgets.map((budget) => {
    const { name, period } = budget;
    const endsAt = endOf(period, at);
    return {
      name,
      limit: budget.unit === "money" ? parseMoney(budget.limit) : budget.limit,
      period: nameOf(period, at),
      ...(endsAt && { ends_at: endsAt.toISOString() }),
      ...(budget.on_redis_loss === "admit" && { on_redis_loss: budget.on_redis_loss }),
      ...(budget.unit === "money" && {
        money: { currency: budget.currency, prices: pricesIn(budget.currency, prices) },
      }),
    };
  });
}

function pricesIn(currency: string, prices: ModelPrices) {
  const own = Object.entries(prices).filter(([, price]) => price.currency === currency);
  return Object.fromEntries(
    own.map(([model, { input, cached_input: cached, output }]) => [
      model,
      { input, ...(cached !== undefined && { cached_input: cached }), output },
    ]),
  );
}

export function accountsOf(tenant: TenantId, charges: readonly BudgetCharge[]): readonly BudgetAccount[] {
  return charges.map(({ name, limit, period, ends_at: endsAt, on_redis_loss: onLoss, money }) => ({
    tenant,
    name,
    limit,
    ...(onLoss === "admit" && { admitsOnLoss: true }),
    // Units of another kind are another account, should a budget change within a period.
    key: `{${tenant}}.${name}.${period}${money ? `.${money.currency}` : ""}`,
    endsAtMs: endsAt === undefined ? undefined : Date.parse(endsAt),
  }));
}

/** `2026-11-23T12`, `2026-11-23`, `2026-11`, `total`. */
function nameOf(period: BudgetPeriod, at: Date): string {
  const iso = at.toISOString();
  switch (period) {
    case "hour":
      return iso.slice(0, "2026-11-23T12".length);
    case "day":
      return iso.slice(0, "2026-11-23".length);
    case "month":
      return iso.slice(0, "2026-11".length);
    case "total":
      return "total";
  }
}

/** When the period began; undefined for one that never did. */
export function startOf(period: BudgetPeriod, at: Date): Date | undefined {
  const name = nameOf(period, at);
  switch (period) {
    case "hour":
      return new Date(`${name}:00:00Z`);
    case "day":
      return new Date(`${name}T00:00:00Z`);
    case "month":
      return new Date(`${name}-01T00:00:00Z`);
    case "total":
      return undefined;
  }
}

function endOf(period: BudgetPeriod, at: Date): Date | undefined {
  const [year, month, day, hour] = [
    at.getUTCFullYear(),
    at.getUTCMonth(),
    at.getUTCDate(),
    at.getUTCHours(),
  ] as const;
  switch (period) {
    case "hour":
      return new Date(Date.UTC(year, month, day, hour + 1));
    case "day":
      return new Date(Date.UTC(year, month, day + 1));
    case "month":
      return new Date(Date.UTC(year, month + 1));
    case "total":
      return undefined;
  }
}
