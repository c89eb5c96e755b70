import * as z from "zod";

const MAX_BUDGETS = 4;
const MAX_LIMIT = 1_000_000_000_000;

/** Calendar periods are in UTC. `total` never ends. */
export const BUDGET_PERIODS = ["hour", "day", "month", "total"] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

const budgetSchema = z.strictObject({
  /** Told to clients: the `param` of a `budget_exceeded`. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, "must be 1 to 32 of a-z, 0-9, _ and -, and begin with a letter"),
  /** Tokens: those of the input and those that engines have produced. */
  unit: z.literal("tokens"),
  limit: z.int().min(1).max(MAX_LIMIT),
  period: z.enum(BUDGET_PERIODS),
});
export type Budget = z.infer<typeof budgetSchema>;

/** What a tenant may use in each period. */
export const budgetsSchema = z
  .array(budgetSchema)
  .max(MAX_BUDGETS)
  .superRefine((budgets, context) => {
    for (const [i, { name }] of budgets.entries())
      if (budgets.findIndex((budget) => budget.name === name) < i)
        context.addIssue({ code: "custom", path: [i, "name"], message: "is there twice" });
  });
