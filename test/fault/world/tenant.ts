import { createHash, randomBytes } from "node:crypto";
import { parseTenantId, type TenantId } from "@reprise/protocol";

/** A user of the platform, with a key that may do everything. */
export interface Tenant {
  readonly id: TenantId;
  readonly key: string;
}

export function createTenant(name: string): Tenant {
  return { id: parseTenantId(name), key: `rk_${name}_${randomBytes(24).toString("base64url")}` };
}

/** A tenants file as delivery reads it. */
export function encodeTenantsFile(tenants: readonly Tenant[]): string {
  const roles = ["create", "read", "cancel", "tool", "input", "usage"];
  return JSON.stringify({
    tenants: tenants.map(({ id, key }) => ({
      id,
      keys: [{ sha256: createHash("sha256").update(key).digest("hex"), roles }],
    })),
  });
}
