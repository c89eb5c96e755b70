import type { Metrics } from "./metric.ts";

/** Metrics of delivery and workers about tenants' budgets. */
export const BUDGET_METRICS = {
  reprise_budget_used_ratio: {
    kind: "gauge",
    labels: ["tenant", "budget"],
    help: "Used or granted share of a budget, as last seen within ten minutes; `other` has the largest of further tenants.",
  },
  reprise_budget_refusals_total: {
    kind: "counter",
    labels: ["tenant", "reason"],
    help: "Creates refused by a budget: `exceeded`, `unavailable` (Redis) or `unpriced`.",
  },
  reprise_budget_cut_offs_total: {
    kind: "counter",
    labels: ["tenant"],
    help: "Generations ended by a used-up budget.",
  },
  reprise_budget_ledger_errors_total: {
    kind: "counter",
    help: "Claims on budgets answered without Redis.",
  },
} as const satisfies Partial<Metrics>;
