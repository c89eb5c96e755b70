import type { Metrics } from "./metric.ts";

/** Metrics of delivery and workers about tenants' budgets. */
export const BUDGET_METRICS = {
  reprise_budget_used_ratio: {
    kind: "gauge",
    labels: ["tenant", "budget"],
    help: "Share of a budget's limit that is used, or granted to generations that run, as this process saw it last, within the last ten minutes. `tenant` is one of the first `REPRISE_METRICS_TENANTS` that this process has met; the largest share of all others is under `other` with the budget `other`.",
  },
  reprise_budget_refusals_total: {
    kind: "counter",
    labels: ["tenant", "reason"],
    help: "Creates that this delivery node refused because of a budget, `tenant` as there: `exceeded`, `unavailable` where Redis did not answer and the budget does not admit that, `unpriced` where the model has no price.",
  },
  reprise_budget_cut_offs_total: {
    kind: "counter",
    labels: ["tenant"],
    help: "Generations that this worker ended because a budget was used up; `tenant` as there.",
  },
  reprise_budget_ledger_errors_total: {
    kind: "counter",
    help: "Claims on budgets that this process answered alone because Redis did not.",
  },
} as const satisfies Partial<Metrics>;
