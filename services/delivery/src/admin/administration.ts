import type { TenantStore, Tenants } from "@reprise/tenancy";

/** Ports that a node needs to administer tenants. */
export interface Administration {
  readonly directory: Pick<Tenants["directory"], "all" | "sync" | "stored">;
  readonly store: TenantStore;
  /** True if the tenants file owns the tenants. */
  readonly isReadOnly: boolean;
  /** SHA-256 of the operator's key, which administers all tenants. Undefined: there is no operator key. */
  readonly operatorKeySha256: string | undefined;
}
