import { type Policy, type TenantId, type UnixMs, NEVER, toUnixMs } from "@reprise/protocol";
import type { Budget } from "../budgets/budget-settings.ts";
import type { ConversationSettings } from "./conversation-settings.ts";
import { defaultKeyName, keyIdOf, type KeyRecord } from "./key-record.ts";
import { type Role, roleSet } from "./roles.ts";
import type { TenantLimits } from "../limits/tenant-limits.ts";
import { RECORD_VERSION, type TenantRecord, type TenantSlots } from "./tenant-record.ts";
import type { Revocation, SigningKey } from "./token-records.ts";

/** An API key in memory: what a request is admitted by. */
export interface TenantKey {
  readonly id: string;
  /** The lower-case hex SHA-256 of the secret; the secret itself is never kept. */
  readonly sha256: string;
  readonly roles: ReadonlySet<Role>;
  /** Name in the log for actions with the key: its name. */
  readonly holder: string;
  /** `NEVER` for a key that does not expire. */
  readonly expiresAtMs: UnixMs;
}

/** Content and duration of a tenant's audit log, in whole days. */
export interface AuditRetention {
  /** Nothing is erased before, not even on request. Default 0. */
  readonly minDays: number;
  /** Everything is deleted after. Default: never. */
  readonly maxDays?: number;
  /** Blobs in the archive: their hashes, or their bytes too. Default `hash`. */
  readonly blobs?: "hash" | "content";
}

/** A tenant as processes use it; made from a record of the bucket or from the tenants file. */
export interface TenantConfig {
  /** When the bucket has stored the record, in microseconds. Undefined for a tenant of the tenants file. */
  readonly storedAtUs?: number;
  readonly id: TenantId;
  readonly keys: readonly TenantKey[];
  readonly policy: Policy;
  readonly audit: AuditRetention;
  /** The models that requests may name. Undefined: all. */
  readonly models?: ReadonlySet<string>;
  /** Limits of all calls of the tenant together. Undefined: no limit. */
  readonly limits?: TenantLimits;
  readonly slots?: TenantSlots;
  /** The tenant's budgets for each period. Undefined: no limit. */
  readonly budgets?: readonly Budget[];
  readonly conversations?: ConversationSettings;
  readonly corsOrigins?: readonly string[];
  readonly signingKeys: readonly SigningKey[];
  readonly revocations: readonly Revocation[];
}

/** Fields that a tenants file and a record have in common. */
export type TenantSource = Pick<
  TenantRecord,
  "id" | "policy" | "audit" | "models" | "limits" | "slots" | "budgets" | "conversations" | "cors_origins"
> & {
  readonly keys: readonly Omit<KeyRecord, "created_at" | "prefix">[];
} & Partial<Pick<TenantRecord, "signing_keys" | "revocations">>;

export function toTenant(source: TenantSource): TenantConfig {
  const { id, keys, policy, audit, models, limits, slots, budgets } = source;
  const { conversations, cors_origins, signing_keys, revocations } = source;
  const { min_days: minDays = 0, max_days: maxDays, blobs } = audit;
  return {
    id,
    keys: keys.map(toTenantKey),
    policy,
    audit: { minDays, ...(maxDays !== undefined && { maxDays }), ...(blobs && { blobs }) },
    ...(models && { models: new Set(models) }),
    ...(limits && { limits }),
    ...(slots && { slots }),
    ...(budgets && { budgets }),
    ...(conversations && { conversations }),
    ...(cors_origins && { corsOrigins: cors_origins }),
    signingKeys: signing_keys ?? [],
    revocations: revocations ?? [],
  };
}

/** The record of a tenant that comes from the tenants file. */
export function toRecord(tenant: TenantConfig, createdAt: string): TenantRecord {
  const { id, keys, policy, audit, models, limits, slots, budgets } = tenant;
  const { conversations, corsOrigins, signingKeys, revocations } = tenant;
  return {
    version: RECORD_VERSION,
    id,
    created_at: createdAt,
    policy,
    audit: {
      min_days: audit.minDays,
      ...(audit.maxDays !== undefined && { max_days: audit.maxDays }),
      ...(audit.blobs && { blobs: audit.blobs }),
    },
    ...(models && { models: [...models] }),
    ...(limits && { limits }),
    ...(slots && { slots }),
    ...(budgets && { budgets: [...budgets] }),
    ...(conversations && { conversations }),
    ...(corsOrigins && { cors_origins: [...corsOrigins] }),
    keys: keys.map(({ holder, sha256, roles, expiresAtMs }) => ({
      name: holder,
      sha256,
      roles: [...roles],
      created_at: createdAt,
      ...(expiresAtMs !== NEVER && { expires_at: new Date(expiresAtMs).toISOString() }),
    })),
    signing_keys: [...signingKeys],
    revocations: [...revocations],
  };
}

export function toTenantKey({
  name,
  sha256,
  roles,
  expires_at,
}: Omit<KeyRecord, "created_at" | "prefix" | "name"> & { readonly name?: string | undefined }): TenantKey {
  return {
    id: keyIdOf(sha256),
    sha256,
    roles: roleSet(roles),
    holder: name ?? defaultKeyName(sha256),
    expiresAtMs: expires_at === undefined ? NEVER : toUnixMs(expires_at),
  };
}
