import { LIMITS } from "@reprise/protocol";
import * as z from "zod";
import { MAX_MONEY_UNITS, parseMoney } from "./budget-meter.ts";

/** The most tokens that a model makes for a request, by the models file. */
export const maxOutputTokensSchema = z.int().min(1).max(LIMITS.outputTokens);

const MAX_BUDGETS = 4;
const MAX_TOKENS = 1_000_000_000_000;

/** Calendar periods are in UTC. `total` never ends. */
export const BUDGET_PERIODS = ["hour", "day", "month", "total"] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

const common = {
  /** Told to clients: the `param` of a `budget_exceeded`. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, "must be 1 to 32 of a-z, 0-9, _ and -, and begin with a letter"),
  period: z.enum(BUDGET_PERIODS),
  /** Policy of a process that has granted its share of the rest while Redis does not answer. Default `refuse`. */
  on_redis_loss: z.enum(["refuse", "admit"]).optional(),
} as const;

/** Those of the input and those that engines have produced. */
const tokensSchema = z.strictObject({
  ...common,
  unit: z.literal("tokens"),
  limit: z.int().min(1).max(MAX_TOKENS),
});

/** A budget in money, by the prices of the models file. */
const moneySchema = z.strictObject({
  ...common,
  unit: z.literal("money"),
  /** ISO 4217. */
  currency: z.string().regex(/^[A-Z]{3}$/, "must be three capital letters"),
  /** A decimal text: numbers of JSON are no exact amounts. */
  limit: z
    .string()
    .regex(/^(0|[1-9][0-9]{0,6})(\.[0-9]{1,9})?$/, 'must be a decimal text such as "250.00"')
    .refine((text) => {
      const units = parseMoney(text);
      return units > 0 && units <= MAX_MONEY_UNITS;
    }, "must be above 0, and 4000000 at most"),
});

const budgetSchema = z.discriminatedUnion("unit", [tokensSchema, moneySchema]);
export type Budget = z.infer<typeof budgetSchema>;

/** Budgets of a tenant, for each period. */
export const budgetsSchema = z
  .array(budgetSchema)
  .max(MAX_BUDGETS)
  .superRefine((budgets, context) => {
    for (const [i, { name }] of budgets.entries())
      if (budgets.findIndex((budget) => budget.name === name) < i)
        context.addIssue({ code: "custom", path: [i, "name"], message: "is there twice" });
  });
