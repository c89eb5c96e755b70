import type { TenantConfig, TenantDirectory } from "@reprise/tenancy";

/** A tenant, as far as the audit log has to know it. */
export type KeptTenant = Pick<TenantConfig, "id" | "audit">;

/** The tenants as the bucket has them; those that it does not have, as the tenants file has them. */
export function keptTenants(
  directory: Pick<TenantDirectory, "all" | "find">,
  file: readonly KeptTenant[],
): readonly KeptTenant[] {
  return [...directory.all(), ...file.filter(({ id }) => !directory.find(id))];
}
