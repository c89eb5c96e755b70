import type { Policy, TenantId } from "@reprise/protocol";
import { hashKey } from "./key-hash.ts";
import type { Role, TenancyConfig } from "./tenants-file.ts";

/** Whom a key stands for, and what it may do. */
export interface Principal {
  readonly tenant: TenantId;
  readonly roles: ReadonlySet<Role>;
  /** Who stands in a log for what is done with the key. No secret, and of this tenant alone. */
  readonly holder: string;
  /** The tenant's own policy: a request's can only tighten it. */
  readonly policy: Policy;
}

export interface TenantDirectory {
  /** The principal of a bearer token; undefined for an unknown token. The same token gives the same object until `reload`. */
  authenticate(bearerToken: string): Principal | undefined;
  /** Replaces all tenants at once. Requests that are under way keep what they were admitted with. */
  reload(config: TenancyConfig): void;
}

/**
 * The tenants in memory, found by the hash of their key: how long a look-up takes says nothing about a secret, only about its hash.
 */
export function createTenantDirectory(config: TenancyConfig): TenantDirectory {
  let principals = index(config);
  return {
    authenticate: (bearerToken) => principals.get(hashKey(bearerToken)),
    reload(next) {
      principals = index(next);
    },
  };
}

function index({ tenants }: TenancyConfig): ReadonlyMap<string, Principal> {
  return new Map(
    tenants.flatMap(({ id, keys, policy }) =>
      keys.map(({ sha256, roles, holder }) => [sha256, { tenant: id, roles, holder, policy }] as const),
    ),
  );
}
