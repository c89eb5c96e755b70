import { parseTenantId, NEVER } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";

/** A caller that may read, for parts that are not asked what else it may do. */
export function createPrincipal(change: Partial<Principal> = {}): Principal {
  return {
    tenant: parseTenantId("acme"),
    roles: new Set(["read"]),
    holder: "ann",
    policy: {},
    keyId: "k",
    expiresAtMs: NEVER,
    ...change,
  };
}
