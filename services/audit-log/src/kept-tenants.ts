import { loadTenantsFile, type TenantConfig, type TenantDirectory } from "@reprise/tenancy";
import type { AuditLogEnvironment } from "./config.ts";

/** Without a tenants file everything is kept. @throws RepriseError `config_invalid` */
export async function loadKeptTenants({
  REPRISE_TENANTS_FILE: file,
}: Pick<AuditLogEnvironment, "REPRISE_TENANTS_FILE">): Promise<readonly KeptTenant[]> {
  return file === undefined ? [] : (await loadTenantsFile(file)).tenants;
}

/** A tenant, as far as the audit log has to know it. */
export type KeptTenant = Pick<TenantConfig, "id" | "audit">;

/** The tenants as the bucket has them; those that it does not have, as the tenants file has them. */
export function keptTenants(
  directory: Pick<TenantDirectory, "all" | "find">,
  file: readonly KeptTenant[],
): readonly KeptTenant[] {
  return [...directory.all(), ...file.filter(({ id }) => !directory.find(id))];
}
