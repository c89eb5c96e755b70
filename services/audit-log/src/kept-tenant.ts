import type { TenantConfig } from "@reprise/tenancy";

/** A tenant, as far as the audit log has to know it. */
export type KeptTenant = Pick<TenantConfig, "id" | "audit">;
