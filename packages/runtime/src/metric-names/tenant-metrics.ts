import type { Metrics } from "./metric.ts";

/** Metrics of analytics with a tenant, as those of budgets have it: of the first tenants that a process meets, as many as it is told. */
export const TENANT_METRICS = {
  reprise_tenant_generations_total: {
    kind: "counter",
    labels: ["tenant", "status"],
    help: "Generations whose row is committed, by status. `tenant` is one of the first `REPRISE_METRICS_TENANTS` that this process met, or `other`.",
  },
  reprise_tenant_output_tokens_total: {
    kind: "counter",
    labels: ["tenant"],
    help: "Tokens produced for these generations, including rewound ones.",
  },
} as const satisfies Partial<Metrics>;
