import { createHash } from "node:crypto";
import { type Dialect, RepriseError, type TenantId } from "@reprise/protocol";

/** For whom a model server keeps what it has computed of a prompt: `tenant`: for requests of the same tenant alone; `none`: for all. */
export const CACHE_SALTS = ["tenant", "none"] as const;
export type CacheSalt = (typeof CACHE_SALTS)[number];

export function defaultCacheSalt(dialect: Dialect): CacheSalt {
  return dialect === "vllm" ? "tenant" : "none";
}

/**
 * vLLM's `cache_salt`: it takes 128 characters at most, without `@`, `/` and `\`. Two tenants have none in common, and none says whose it is.
 * @throws RepriseError `internal` where it is not known whose the request is: its prompt may not be left in everybody's cache
 */
export function cacheSaltOf(salt: CacheSalt, tenant: TenantId | undefined): string | undefined {
  if (salt === "none") return undefined;
  if (tenant === undefined)
    throw new RepriseError("internal", "A request without a tenant has no cache salt.");
  return createHash("sha256").update("reprise-cache\0").update(tenant).digest("base64url");
}
