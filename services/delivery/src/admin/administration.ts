import type { TenantStore, Tenants } from "@reprise/tenancy";

/** What a node needs to administer tenants. */
export interface Administration {
  readonly directory: Pick<Tenants["directory"], "all" | "sync" | "stored">;
  readonly store: TenantStore;
  /** Whether the tenants file owns the tenants. */
  readonly isReadOnly: boolean;
  /** Of the key that administers all tenants; undefined: there is none. */
  readonly operatorKeySha256: string | undefined;
}
