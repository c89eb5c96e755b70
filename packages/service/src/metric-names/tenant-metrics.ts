import type { Metrics } from "./metric.ts";

/** Metrics of analytics with a tenant, as those of budgets have it: of the first tenants that a process meets, as many as it is told. */
export const TENANT_METRICS = {
  reprise_tenant_generations_total: {
    kind: "counter",
    labels: ["tenant", "status"],
    help: "Generations whose row analytics has committed, by their end: `completed`, `failed` or `cancelled`. `tenant` is one of the first `REPRISE_METRICS_TENANTS` that this process has met, or `other` for all further ones.",
  },
  reprise_tenant_output_tokens_total: {
    kind: "counter",
    labels: ["tenant"],
    help: "Tokens that engines have produced for those generations, rewound ones included; `tenant` as there.",
  },
} as const satisfies Partial<Metrics>;
