import type { Metrics } from "./metric.ts";

/** Metrics of analytics with a tenant, as those of budgets have it: of the first tenants that a process meets, as many as it is told. */
export const TENANT_METRICS = {
  reprise_tenant_generations_total: {
    kind: "counter",
    labels: ["tenant", "status"],
    help: "Committed rows by status; `tenant` is one of `REPRISE_METRICS_TENANTS`, or `other`.",
  },
  reprise_tenant_output_tokens_total: {
    kind: "counter",
    labels: ["tenant"],
    help: "Their produced tokens, with rewound ones.",
  },
} as const satisfies Partial<Metrics>;
