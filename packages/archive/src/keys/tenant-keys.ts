import { hkdfSync, randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import { LruCache } from "../store/lru-cache.ts";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { encodeStored, readStored, wrappedSchema } from "./stored-object.ts";
import { KEY_BYTES, unwrapKey, wrapKey } from "./wrap.ts";

export interface TenantKey {
  /** Wraps the tenant's other keys. */
  readonly wrapping: Uint8Array;
  /** The key of keyed hashes. */
  readonly tagging: Uint8Array;
}

const MAX_CACHED = 1_000;
/** Prefix of the objects with tenants' keys under the master key. */
export const TENANT_KEYS = "kek/";

/** One key per tenant. Two processes that meet a tenant for the first time agree on one. */
export class TenantKeys {
  readonly #store: BlobStore;
  readonly #masterKey: Uint8Array;
  readonly #cached = new LruCache<Promise<TenantKey>>(MAX_CACHED);

  constructor(store: BlobStore, masterKey: Uint8Array) {
    this.#store = store;
    this.#masterKey = masterKey;
  }

  /** @throws RepriseError `archive_unavailable`; `archive_corrupt` when it is under another master key than the rest */
  get(tenant: string): Promise<TenantKey> {
    const cached = this.#cached.get(tenant);
    if (cached) return cached;
    const opening = this.#open(`${TENANT_KEYS}${tenant}`);
    this.#cached.set(tenant, opening);
    opening.catch(() => this.#cached.delete(tenant));
    return opening;
  }

  async #open(name: string): Promise<TenantKey> {
    let stored = await readStored(this.#store, name, wrappedSchema);
    if (!stored) {
      const made = { wrapped: wrapKey(randomBytes(KEY_BYTES), this.#masterKey, name) };
      const outcome = await this.#store.create(name, encodeStored(made));
      stored = outcome === "created" ? made : await readStored(this.#store, name, wrappedSchema);
    }
    const wrapping = stored && unwrapKey(stored.wrapped, this.#masterKey, name);
    if (!wrapping) throw foreignKey(name);
    const tagging = new Uint8Array(hkdfSync("sha256", wrapping, "", "reprise tags v1", KEY_BYTES));
    return { wrapping, tagging };
  }
}

/**
 * True if the master key opens any tenant's key.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function opensAnyTenant(store: BlobStore, masterKey: Uint8Array): Promise<boolean> {
  for await (const { key: name } of store.list(TENANT_KEYS)) {
    const stored = await readStored(store, name, wrappedSchema);
    if (stored && unwrapKey(stored.wrapped, masterKey, name)) return true;
  }
  return false;
}

/** @param name of what another master key has wrapped, beside what this one has */
export function foreignKey(name: string): RepriseError {
  return archiveCorrupt(
    `The audit log's keys are under one master key, and ${name} is under another: it was put there, or a rewrap was interrupted.`,
  );
}

/** @param name of what it does not open */
export function wrongMasterKey(name: string): RepriseError {
  return new RepriseError(
    "config_invalid",
    `The audit log's keys (${name}) are under another master key than this one.`,
  );
}
