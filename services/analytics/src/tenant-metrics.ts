import type { GenerationRow } from "@reprise/facts";
import { type Metrics, TenantLabels } from "@reprise/runtime";

/** Counts ended generations and their tokens by tenant. */
export class TenantMetrics {
  readonly #metrics: Metrics;
  readonly #labels: TenantLabels;

  constructor(metrics: Metrics, maxTenants: number) {
    this.#metrics = metrics;
    this.#labels = new TenantLabels(maxTenants);
  }

  committed(rows: readonly Pick<GenerationRow, "tenant" | "status" | "output_tokens">[]): void {
    const generations = this.#metrics.counter("reprise_tenant_generations_total");
    const tokens = this.#metrics.counter("reprise_tenant_output_tokens_total");
    for (const { tenant: id, status, output_tokens: produced } of rows) {
      const tenant = this.#labels.of(id);
      generations.inc({ tenant, status });
      tokens.inc({ tenant }, produced);
    }
  }
}
