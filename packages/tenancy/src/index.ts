export { assertKnownClassifiers } from "./assert-known-classifiers.ts";
export { createDevTenant, type DevTenant } from "./dev-tenant.ts";
export { createTenantDirectory, type Principal, type TenantDirectory } from "./tenant-directory.ts";
export {
  type AuditRetention,
  loadTenantsFile,
  parseTenantsFile,
  type Role,
  type TenancyConfig,
  type TenantConfig,
  type TenantKey,
} from "./tenants-file.ts";
