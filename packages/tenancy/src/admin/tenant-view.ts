import { keyIdOf, type KeyRecord } from "../records/key-record.ts";
import type { TenantRecord } from "../records/tenant-record.ts";
import type { Revocation, SigningKey } from "../records/token-records.ts";

/*
 * Records as the admin API and the audit log show them: without the hashes.
 */

export interface KeyView {
  readonly id: string;
  readonly object: "api_key";
  readonly name: string;
  readonly prefix?: string | undefined;
  readonly roles: readonly string[];
  readonly created_at: string;
  readonly expires_at?: string | undefined;
  /** To about a minute; absent for a key that was not used for 400 days. */
  readonly last_used_at?: string | undefined;
}

export function viewKey({ sha256, ...key }: KeyRecord, used?: ReadonlyMap<string, string>): KeyView {
  const id = keyIdOf(sha256);
  const last_used_at = used?.get(id);
  return { id, object: "api_key", ...key, ...(last_used_at !== undefined && { last_used_at }) };
}

export function viewSigningKey(key: SigningKey) {
  return { object: "signing_key", ...key } as const;
}

export function viewRevocation(revocation: Revocation) {
  return { object: "revocation", ...revocation } as const;
}

export function viewSettings({ policy, audit, models, limits, slots, ...others }: TenantRecord) {
  const { budgets, conversations, cors_origins } = others;
  const ofUse = { limits, slots, budgets, conversations };
  return { object: "tenant_policy", policy, audit, models, ...ofUse, cors_origins } as const;
}

export function viewTenant(record: TenantRecord, used?: ReadonlyMap<string, string>) {
  const { id, created_at, keys, signing_keys, revocations } = record;
  const { object: _, ...settings } = viewSettings(record);
  return {
    id,
    object: "tenant",
    created_at,
    ...settings,
    keys: keys.map((key) => viewKey(key, used)),
    signing_keys,
    revocations,
  } as const;
}
