/** The label of all tenants beyond the bound. A tenant of this name is counted there too. */
export const OTHER_TENANTS = "other";

/**
 * Which tenants have series of their own: the first ones, for as long as the process lives. A series per tenant, of any number of tenants, would make every scrape slower. What is under
 * `other` shows that the bound is reached.
 */
export class TenantLabels {
  readonly #maxTenants: number;
  readonly #named = new Set<string>();

  constructor(maxTenants: number) {
    this.#maxTenants = maxTenants;
  }

  of(tenant: string): string {
    if (this.#named.has(tenant)) return tenant;
    if (tenant === OTHER_TENANTS || this.#named.size >= this.#maxTenants) return OTHER_TENANTS;
    this.#named.add(tenant);
    return tenant;
  }
}
