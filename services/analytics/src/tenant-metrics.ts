import type { GenerationRow } from "@reprise/metering";
import type { Metrics } from "@reprise/service";

/** Stands for all tenants beyond the bound. A tenant of this name is counted there too. */
const OTHER = "other";

/**
 * Counts ended generations and their tokens by tenant. The first tenants have series of their own for as long as the process lives; a series per tenant,
 * of any number of tenants, would make every scrape slower. What is under `other` shows that the bound is reached.
 */
export class TenantMetrics {
  readonly #metrics: Metrics;
  readonly #maxTenants: number;
  readonly #named = new Set<string>();

  constructor(metrics: Metrics, maxTenants: number) {
    this.#metrics = metrics;
    this.#maxTenants = maxTenants;
  }

  committed(rows: readonly Pick<GenerationRow, "tenant" | "status" | "output_tokens">[]): void {
    const generations = this.#metrics.counter("reprise_tenant_generations_total");
    const tokens = this.#metrics.counter("reprise_tenant_output_tokens_total");
    for (const { tenant: id, status, output_tokens: produced } of rows) {
      const tenant = this.#labelOf(id);
      generations.inc({ tenant, status });
      tokens.inc({ tenant }, produced);
    }
  }

  #labelOf(tenant: string): string {
    if (this.#named.has(tenant)) return tenant;
    if (tenant === OTHER || this.#named.size >= this.#maxTenants) return OTHER;
    this.#named.add(tenant);
    return tenant;
  }
}
