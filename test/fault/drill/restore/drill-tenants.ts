import { createHash } from "node:crypto";
import type { Tenant } from "../../world/tenant.ts";

/** A tenants file whose keys may do everything that a drill asks for. */
export function encodeDrillTenants(tenants: readonly Tenant[]): string {
  const roles = ["create", "read", "cancel", "usage", "blob"];
  return JSON.stringify({
    tenants: tenants.map(({ id, key }) => ({
      id,
      keys: [{ sha256: createHash("sha256").update(key).digest("hex"), roles }],
    })),
  });
}
