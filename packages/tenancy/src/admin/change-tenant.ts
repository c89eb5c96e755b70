import { RepriseError, type TenantId } from "@reprise/protocol";
import * as z from "zod";
import { createApiKey, type NewKey } from "../keys/create-api-key.ts";
import { keyIdOf, keyNameSchema, type KeyRecord, MAX_KEYS, timeSchema } from "../records/key-record.ts";
import { rolesSchema } from "../records/roles.ts";
import {
  usableOriginsSchema,
  RECORD_VERSION,
  tenantIdSchema,
  type TenantRecord,
  tenantSettings,
} from "../records/tenant-record.ts";

/*
 * Changes of a tenant's record by an administrator: each a function of the present record, for a change may be made again when another came
 * between, or when the answer to it was lost. A key's secret is made once, before.
 */

const usableSettings = { ...tenantSettings, cors_origins: usableOriginsSchema.optional() };
export const newTenantSchema = z.strictObject({ id: tenantIdSchema, ...usableSettings });
export const tenantSettingsSchema = z.strictObject(usableSettings);
export type TenantSettings = z.infer<typeof tenantSettingsSchema>;

export const newKeySchema = z.strictObject({
  name: keyNameSchema,
  roles: rolesSchema,
  expires_at: timeSchema.optional(),
});
export type NewKeyRequest = z.infer<typeof newKeySchema>;

/** A month: long enough to roll a key out by hand. */
const MAX_OVERLAP_SECONDS = 2_592_000;
const DEFAULT_OVERLAP_SECONDS = 86_400;

/** Seconds that the old key still works. */
export const overlapSchema = z.int().min(0).max(MAX_OVERLAP_SECONDS).default(DEFAULT_OVERLAP_SECONDS);

export const rotationSchema = z.strictObject({
  overlap_seconds: overlapSchema,
  /** Default: the old key's name with a number appended. */
  name: keyNameSchema.optional(),
  expires_at: timeSchema.optional(),
});
export type Rotation = z.infer<typeof rotationSchema>;

/** Milliseconds that an expired key is still listed. */
const LISTED_AFTER_EXPIRY_MS = 30 * 86_400_000;
const MAX_NAME_CHARS = 64;

export function newTenant({ id, ...settings }: z.infer<typeof newTenantSchema>, now: Date): TenantRecord {
  const created_at = now.toISOString();
  return {
    version: RECORD_VERSION,
    id,
    created_at,
    ...settings,
    keys: [],
    signing_keys: [],
    revocations: [],
  };
}

/** Replaces all settings: one that is not named has its default again. */
export function withSettings(present: TenantRecord, settings: TenantSettings): TenantRecord {
  const { models: _models, limits: _limits, slots: _slots, budgets: _budgets, ...others } = present;
  const { conversations: _conversations, cors_origins: _origins, ...rest } = others;
  return { ...rest, ...settings };
}

export function createKey(tenant: TenantId, random: Uint8Array): NewKey {
  return createApiKey(tenant, random);
}

export function withKey(present: TenantRecord, key: NewKey, request: NewKeyRequest, now: Date): TenantRecord {
  if (present.keys.some(({ sha256 }) => sha256 === key.sha256)) return present;
  assertFuture(request, now);
  const { keys, ...rest } = withoutOutdated(present, now);
  if (keys.some(({ name }) => name === request.name)) throw nameTaken(request.name);
  assertRoom(keys);
  return { ...rest, keys: [...keys, { ...toRecord(key, now), ...request }] };
}

/**
 * A new key with the old one's roles; the old one expires after the overlap, unless it does so before.
 * @throws RepriseError `key_not_found`; `invalid_request` when the name is taken, or either key has expired
 */
export function withRotatedKey(
  present: TenantRecord,
  { id, key, rotation, now }: { id: string; key: NewKey; rotation: Rotation; now: Date },
): TenantRecord {
  if (present.keys.some(({ sha256 }) => sha256 === key.sha256)) return present;
  assertFuture(rotation, now);
  const { keys, ...rest } = withoutOutdated(present, now);
  const old = findKey(present, id);
  if (old.expires_at !== undefined && Date.parse(old.expires_at) <= now.getTime())
    throw new RepriseError("invalid_request", `The key ${id} has expired: create a new one.`, {
      param: "key",
    });
  const name = rotation.name ?? nextName(old.name, new Set(keys.map((each) => each.name)));
  if (keys.some((each) => each.name === name)) throw nameTaken(name);
  assertRoom(keys);
  const { roles } = old;
  const { expires_at } = rotation;
  const fresh = { ...toRecord(key, now), name, roles, ...(expires_at !== undefined && { expires_at }) };
  const ending = keys.map((each) => (each === old ? endingBy(each, rotation, now) : each));
  return { ...rest, keys: [...ending, fresh] };
}

/** Returns the key with its expiry at the end of the overlap, or unchanged if it expires sooner. */
export function endingBy<T extends { readonly expires_at?: string | undefined }>(
  key: T,
  { overlap_seconds }: Pick<Rotation, "overlap_seconds">,
  now: Date,
): T {
  const endsAtMs = now.getTime() + overlap_seconds * 1_000;
  const isSooner = key.expires_at !== undefined && Date.parse(key.expires_at) <= endsAtMs;
  return isSooner ? key : { ...key, expires_at: new Date(endsAtMs).toISOString() };
}

/** @throws RepriseError `invalid_request` for a key that would have expired before it is stored */
export function assertFuture({ expires_at }: { readonly expires_at?: string | undefined }, now: Date): void {
  if (expires_at === undefined || Date.parse(expires_at) > now.getTime()) return;
  throw new RepriseError("invalid_request", `expires_at: ${expires_at} is not in the future.`, {
    param: "expires_at",
  });
}

/** @throws RepriseError `key_not_found` */
export function withoutKey(present: TenantRecord, id: string): TenantRecord {
  const revoked = findKey(present, id);
  return { ...present, keys: present.keys.filter((key) => key !== revoked) };
}

/** @throws RepriseError `key_not_found` */
export function findKey({ keys }: TenantRecord, id: string): KeyRecord {
  const key = keys.find(({ sha256 }) => keyIdOf(sha256) === id);
  if (key) return key;
  throw new RepriseError("key_not_found", "The tenant has no API key with this id.", { param: "key" });
}

function toRecord(
  { sha256, prefix }: NewKey,
  now: Date,
): Pick<KeyRecord, "sha256" | "prefix" | "created_at"> {
  return { sha256, prefix, created_at: now.toISOString() };
}

/** Without keys that expired long ago: they would fill the record. */
function withoutOutdated(present: TenantRecord, now: Date): TenantRecord {
  const sinceMs = now.getTime() - LISTED_AFTER_EXPIRY_MS;
  const keys = present.keys.filter(
    ({ expires_at }) => expires_at === undefined || Date.parse(expires_at) > sinceMs,
  );
  return { ...present, keys };
}

/** `web-2` of `web`, `web-3` of `web-2`, and so on to the first that is free. */
function nextName(name: string, taken: ReadonlySet<string>): string {
  const [, base = name, number = "1"] = /^(.*?)(?:-([0-9]{1,6}))?$/.exec(name) ?? [];
  for (let next = Number(number) + 1; ; next++) {
    const suffix = `-${next}`;
    const candidate = base.slice(0, MAX_NAME_CHARS - suffix.length) + suffix;
    if (!taken.has(candidate)) return candidate;
  }
}

function assertRoom(keys: readonly KeyRecord[]): void {
  if (keys.length < MAX_KEYS) return;
  const message = `The tenant has ${keys.length} API keys; ${MAX_KEYS} at most are kept. Revoke one first.`;
  throw new RepriseError("invalid_request", message, { param: "key" });
}

function nameTaken(name: string): RepriseError {
  return new RepriseError("invalid_request", `name: the tenant has a key "${name}" already.`, {
    param: "name",
  });
}
