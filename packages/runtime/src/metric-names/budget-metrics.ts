import type { Metrics } from "./metric.ts";

/** Metrics of delivery and workers about tenants' budgets. */
export const BUDGET_METRICS = {
  reprise_budget_used_ratio: {
    kind: "gauge",
    labels: ["tenant", "budget"],
    help: "Share of a budget that is used or granted, as this process saw it in the last ten minutes. `tenant` is one of the first `REPRISE_METRICS_TENANTS`; `other` has the largest share of the rest, with the budget `other`.",
  },
  reprise_budget_refusals_total: {
    kind: "counter",
    labels: ["tenant", "reason"],
    help: "Creates refused by a budget: `exceeded`, `unavailable` (Redis did not answer) or `unpriced` (the model has no price).",
  },
  reprise_budget_cut_offs_total: {
    kind: "counter",
    labels: ["tenant"],
    help: "Generations ended by this worker because a budget was used up.",
  },
  reprise_budget_ledger_errors_total: {
    kind: "counter",
    help: "Claims on budgets that this process answered alone because Redis did not.",
  },
} as const satisfies Partial<Metrics>;
