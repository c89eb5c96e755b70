import { isDeepStrictEqual } from "node:util";
import { RepriseError, type TenantId } from "@reprise/protocol";
import { type TenantConfig, toRecord, toTenant } from "../records/tenant.ts";
import type { TenantRecord } from "../records/tenant-record.ts";
import { type TenantStore, tenantRemoved } from "../store/tenant-store.ts";
import type { TenancyConfig } from "./tenants-file.ts";

/** Changes made by a tenants file. */
export interface AppliedFile {
  readonly created: readonly TenantId[];
  readonly changed: readonly TenantId[];
  readonly removed: readonly TenantId[];
  /** Tenants of the file that were removed before: an id is never given again. */
  readonly stayRemoved: readonly TenantId[];
}

/** Tenants written at a time. */
const AT_ONCE = 32;

/**
 * Creates in the bucket what the file has and the bucket never had: a tenant that was changed or removed since stays as it is.
 * @throws RepriseError `broker_unavailable`
 */
export async function seedTenants(
  store: TenantStore,
  { tenants }: TenancyConfig,
  now: Date,
): Promise<AppliedFile> {
  const created: TenantId[] = [];
  const stayRemoved: TenantId[] = [];
  await each(tenants, async (tenant) => {
    const outcome = await store.seed(toRecord(tenant, now.toISOString()));
    if (outcome === "created") created.push(tenant.id);
    if (outcome === "removed") stayRemoved.push(tenant.id);
  });
  return { created, changed: [], removed: [], stayRemoved };
}

/**
 * Makes the bucket equal to the file. Revocations of tokens, which no file has, stay; keys that stay keep the time at which they were made.
 * @param stored the tenants that the bucket has
 * @param gone those that it had
 * @throws RepriseError `tenant_removed` when the file has one that was removed: nothing is changed then; `broker_unavailable`
 */
export async function ownTenants(
  store: TenantStore,
  { tenants }: TenancyConfig,
  {
    stored,
    gone,
    now,
  }: { readonly stored: readonly TenantId[]; readonly gone: ReadonlySet<TenantId>; readonly now: Date },
): Promise<AppliedFile> {
  const again = tenants.map(({ id }) => id).filter((id) => gone.has(id));
  if (again.length > 0) throw tenantRemoved(again);
  const created: TenantId[] = [];
  const changed: TenantId[] = [];
  const wanted = new Set(tenants.map(({ id }) => id));
  const removed = stored.filter((id) => !wanted.has(id));
  // First, for a key may move from a tenant that goes to one that stays.
  await each(removed, async (id) => store.remove(id, { ifPresent: true }));
  await each(tenants, async (tenant) => {
    const outcome = await store.replace(tenant.id, (present) => merge(tenant, present, now));
    if (outcome === "created") created.push(tenant.id);
    if (outcome === "changed") changed.push(tenant.id);
  });
  return { created, changed, removed, stayRemoved: [] };
}

/** Creates tenants, or adds to those that exist the keys that they lack. Those that were removed stay so. */
export async function ensureKeys(store: TenantStore, { tenants }: TenancyConfig, now: Date): Promise<void> {
  await each(tenants, async (tenant) => {
    const wanted = toRecord(tenant, now.toISOString());
    try {
      await store.replace(tenant.id, (present) => {
        const lacking = wanted.keys.filter(
          ({ sha256 }) => !present?.keys.some((key) => key.sha256 === sha256),
        );
        if (!present) return wanted;
        return lacking.length === 0 ? present : { ...present, keys: [...present.keys, ...lacking] };
      });
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== "tenant_removed") throw error;
    }
  });
}

/** @returns `present` itself where it says the same */
function merge(tenant: TenantConfig, present: TenantRecord | undefined, now: Date): TenantRecord {
  const record = toRecord(tenant, now.toISOString());
  if (!present) return record;
  const { created_at, revocations } = present;
  if (isDeepStrictEqual(toTenant(present), { ...tenant, revocations })) return present;
  const known = new Map(present.keys.map((key) => [key.sha256, key]));
  const keys = record.keys.map((key) => ({
    ...key,
    created_at: known.get(key.sha256)?.created_at ?? key.created_at,
  }));
  return { ...record, created_at, keys, revocations };
}

async function each<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE)
    await Promise.all(items.slice(at, at + AT_ONCE).map(task));
}

/** `seed`: what the bucket never had is created from the file. `file`: the bucket is made equal to it. */
export type TenantsSource = "seed" | "file";

/** @throws RepriseError `config_invalid` when there is no file that could own the tenants */
export function tenantsSourceOf(env: {
  readonly REPRISE_TENANTS_SOURCE: TenantsSource;
  readonly REPRISE_TENANTS_FILE: string | undefined;
}): TenantsSource {
  const { REPRISE_TENANTS_SOURCE: source, REPRISE_TENANTS_FILE: file } = env;
  if (source === "seed" || file !== undefined) return source;
  const message = "REPRISE_TENANTS_SOURCE is `file`, but REPRISE_TENANTS_FILE is not set.";
  throw new RepriseError("config_invalid", message, { param: "REPRISE_TENANTS_SOURCE" });
}
