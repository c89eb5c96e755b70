import type { TenantId } from "@reprise/protocol";
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

/** Who calls the admin API. */
export interface Administrator {
  /** Who stands in the records: `operator`, or the name of the tenant's key. */
  readonly by: string;
  /** The one tenant that it administers; undefined for the operator, who administers all. */
  readonly tenant: TenantId | undefined;
}
