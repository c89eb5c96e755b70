import { type TenantId, type UnixMs, unixNow } from "@reprise/protocol";
import type { TenancyConfig } from "../file/tenants-file.ts";
import { hashKey } from "../keys/create-api-key.ts";
import type { TenantConfig, TenantKey } from "../records/tenant.ts";
import type { Principal } from "./principal.ts";

export interface TenantDirectory {
  /**
   * The principal of an API key; undefined for one that is unknown, revoked or expired. The same key gives the same object until its
   * tenant changes.
   */
  authenticate(bearerToken: string): Principal | undefined;
  /** Returns the current form of an earlier principal; undefined if its key is revoked or expired, or its tenant was removed. */
  renew(principal: Principal): Principal | undefined;
  /** The tenant as this process last heard of it. */
  find(tenant: TenantId): TenantConfig | undefined;
  all(): Iterable<TenantConfig>;
  /**
   * Calls back after each change, with the tenant that was added, changed or removed. That a key expires is no change: see `expiresAtMs`.
   * @returns how to stop listening
   */
  onChange(listener: (tenant: TenantId) => void): () => void;
}

/** A key and what is known of it here. */
interface Entry {
  readonly tenant: TenantConfig;
  readonly key: TenantKey;
  principal: Principal | undefined;
}

export interface TenantTableOptions {
  readonly now?: () => UnixMs;
  /** Called for each use of a known key, so it has to be cheap. */
  readonly onUse?: (tenant: TenantId, key: string) => void;
}

/**
 * The tenants in memory, found by the hash of their key: how long a look-up takes says nothing about a secret, only about its hash.
 */
export class TenantTable implements TenantDirectory {
  readonly #tenants = new Map<TenantId, TenantConfig>();
  readonly #keys = new Map<string, Entry>();
  readonly #listeners = new Set<(tenant: TenantId) => void>();
  readonly #now: () => UnixMs;
  readonly #onUse: TenantTableOptions["onUse"];

  constructor({ now = unixNow, onUse }: TenantTableOptions = {}) {
    this.#now = now;
    this.#onUse = onUse;
  }

  authenticate(bearerToken: string): Principal | undefined {
    const entry = this.#keys.get(hashKey(bearerToken));
    if (!entry || entry.key.expiresAtMs <= this.#now()) return undefined;
    this.#onUse?.(entry.tenant.id, entry.key.id);
    return principalOf(entry);
  }

  renew({ tenant, keyId }: Principal): Principal | undefined {
    const key = this.#tenants.get(tenant)?.keys.find(({ id }) => id === keyId);
    const entry = key && this.#keys.get(key.sha256);
    return !entry || entry.key.expiresAtMs <= this.#now() ? undefined : principalOf(entry);
  }

  find(tenant: TenantId): TenantConfig | undefined {
    return this.#tenants.get(tenant);
  }

  all(): Iterable<TenantConfig> {
    return this.#tenants.values();
  }

  get size(): number {
    return this.#tenants.size;
  }

  onChange(listener: (tenant: TenantId) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The other tenant that has one of these keys: a key that opened two tenants would let them meet. */
  otherOwner({ id, keys }: TenantConfig): TenantId | undefined {
    for (const { sha256 } of keys) {
      const owner = this.#keys.get(sha256)?.tenant.id;
      if (owner !== undefined && owner !== id) return owner;
    }
    return undefined;
  }

  /** Adds tenants, or replaces what is known of them, and removes others; then tells of it. Keys must have no other owner afterwards. */
  update(set: readonly TenantConfig[], removed: readonly TenantId[] = []): void {
    const gone = removed.filter((tenant) => this.#tenants.has(tenant));
    for (const id of [...gone, ...set.map((tenant) => tenant.id)]) this.#forgetKeys(id);
    for (const id of gone) this.#tenants.delete(id);
    for (const tenant of set) {
      this.#tenants.set(tenant.id, tenant);
      for (const key of tenant.keys) this.#keys.set(key.sha256, { tenant, key, principal: undefined });
    }
    for (const id of [...gone, ...set.map((tenant) => tenant.id)])
      for (const listener of this.#listeners) listener(id);
  }

  #forgetKeys(tenant: TenantId): void {
    for (const { sha256 } of this.#tenants.get(tenant)?.keys ?? []) this.#keys.delete(sha256);
  }
}

function principalOf(entry: Entry): Principal {
  const { tenant, key } = entry;
  entry.principal ??= {
    tenant: tenant.id,
    roles: key.roles,
    holder: key.holder,
    policy: tenant.policy,
    models: tenant.models,
    limits: tenant.limits,
    slots: tenant.slots,
    budgets: tenant.budgets,
    conversations: tenant.conversations,
    storedAtUs: tenant.storedAtUs,
    keyId: key.id,
    expiresAtMs: key.expiresAtMs,
  };
  return entry.principal;
}

/** Tenants that do not change by themselves. */
export interface FixedTenantDirectory extends TenantDirectory {
  /** Replaces all tenants at once. Requests that are under way keep what they were admitted with. */
  reload(config: TenancyConfig): void;
}

/** The tenants of a file alone, without a broker. */
export function createTenantDirectory(
  config: TenancyConfig,
  options: TenantTableOptions = {},
): FixedTenantDirectory {
  const table = new TenantTable(options);
  const reload = ({ tenants }: TenancyConfig) => {
    const next = new Set(tenants.map(({ id }) => id));
    const gone = [...table.all()].map(({ id }) => id).filter((id) => !next.has(id));
    table.update(tenants, gone);
  };
  reload(config);
  return {
    authenticate: (bearerToken) => table.authenticate(bearerToken),
    renew: (principal) => table.renew(principal),
    find: (tenant) => table.find(tenant),
    all: () => table.all(),
    onChange: (listener) => table.onChange(listener),
    reload,
  };
}
