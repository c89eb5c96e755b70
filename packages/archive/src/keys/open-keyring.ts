import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import { LruCache } from "../store/lru-cache.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { type KeyEntry, KeyPages } from "./key-pages.ts";
import { commitmentOf, type DataKey, type KeyOwner, type Keyring } from "./keyring.ts";
import { placeOfKid, subjectKid } from "./kid.ts";
import { encodeMasterCheck, isMasterKey, MASTER_CHECK } from "./master-key.ts";
import { PendingKeys } from "./pending-keys.ts";
import { foreignKey, opensAnyTenant, TenantKeys, wrongMasterKey } from "./tenant-keys.ts";
import { KEY_BYTES, unwrapKey, wrapKey } from "./wrap.ts";

/*
 * Layout of the key store:
 *
 *   check                              something known under the master key, which tells another master key
 *   kek/<tenant>                       the tenant's key under the master key
 *   tenant/<tenant>/subject/<tag>/<n>  a page with the n-th key of a subject, under the tenant's: the next is made when it was destroyed
 *   tenant/<tenant>/page/<page>        a page of keys of generations without a subject, one per flush
 *   <page>.1, .2 …                     the rest of a page after keys on it were destroyed; the versions before point to it
 *
 * A kid names the place of its key: `s.<tag>.<n>`, `p.<page>.<index>`. A destroyed key is replaced by the time of its destruction.
 */

export interface KeyringOptions {
  store: BlobStore;
  /** 32 bytes. */
  masterKey: Uint8Array;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

/** Milliseconds for which a keyring caches pages of the store: for that time another process may still use a key that was destroyed. */
const RECHECK_MS = 10_000;
const MAX_CACHED = 20_000;
const TAG_CHARS = 16;

/**
 * A keyring whose keys lie in a store. Several processes may have one open on the same store. A key that `destroy` was asked for is gone
 * for every keyring that is opened after that; one that is open, anywhere, forgets it within ten seconds of `destroy` having
 * resolved; a caller must not hold a DataKey longer than for one use. Up to 20,000 keys are kept in memory.
 * @throws RepriseError `config_invalid` when the store's keys are under another master key; `archive_corrupt` when only the object is
 *   that tells so; `archive_unavailable`
 */
export async function openKeyring(options: KeyringOptions): Promise<Keyring> {
  const { store, masterKey } = options;
  if (masterKey.length !== KEY_BYTES)
    throw new RepriseError("config_invalid", `A master key is ${KEY_BYTES} bytes, not ${masterKey.length}.`);
  if ((await isMasterKey(store, masterKey)) === undefined)
    await store.create(MASTER_CHECK, encodeMasterCheck(masterKey));
  // Another process may have been first, with another key.
  if (!(await isMasterKey(store, masterKey)))
    throw (await opensAnyTenant(store, masterKey)) ? foreignKey(MASTER_CHECK) : wrongMasterKey(MASTER_CHECK);
  return new StoredKeyring(options);
}

class StoredKeyring implements Keyring {
  readonly #tenants: TenantKeys;
  readonly #pages: KeyPages;
  readonly #pending = new PendingKeys();
  /** Unwrapped keys, each with what it was unwrapped from: they are given out only while the store still has that. */
  readonly #opened = new LruCache<{ key: DataKey; wrapped: string }>(MAX_CACHED);

  constructor({ store, masterKey, now = () => performance.now() }: KeyringOptions) {
    this.#tenants = new TenantKeys(store, masterKey);
    this.#pages = new KeyPages(store, { now, recheckMs: RECHECK_MS });
  }

  async keyFor({ tenant, generation, subject }: KeyOwner): Promise<DataKey> {
    if (subject !== undefined) return this.#subjectKey(tenant, subject);
    const { wrapping } = await this.#tenants.get(tenant);
    return (
      this.#pending.of(tenant, generation) ??
      this.#pending.add(tenant, generation, (kid) => makeKey(tenant, kid, wrapping))
    );
  }

  async open(tenant: string, kid: string): Promise<DataKey | "destroyed" | "unknown"> {
    const pending = this.#pending.get(tenant, kid);
    if (pending) return pending;
    const place = placeOfKid(kid);
    const entry = place && (await this.#pages.entry(tenant, place));
    if (!entry) return "unknown";
    if ("wrapped" in entry) return this.#unwrap(tenant, kid, entry.wrapped);
    this.#opened.delete(`${tenant}/${kid}`);
    return "destroyed";
  }

  flush(): Promise<void> {
    return this.#pending.flush(this.#pages);
  }

  async destroy(tenant: string, kids: readonly string[]): Promise<void> {
    await this.flush();
    const places = kids.flatMap((kid) => placeOfKid(kid) ?? []);
    for (const [page, some] of Map.groupBy(places, (place) => place.page))
      await this.#pages.destroy(tenant, page, new Set(some.map(({ index }) => index)));
    for (const kid of kids) this.#opened.delete(`${tenant}/${kid}`);
  }

  async kidsOf(tenant: string, subject: string): Promise<readonly string[]> {
    const tag = await this.tag(tenant, subjectText(subject));
    const kids: string[] = [];
    for (let n = 0; ; n++) {
      const kid = subjectKid(tag, n);
      // A kid that `subjectKid` made has a place.
      const entry = await this.#pages.entry(tenant, placeOfKid(kid)!);
      if (!entry) return kids;
      if ("wrapped" in entry) kids.push(kid);
    }
  }

  async tag(tenant: string, text: string): Promise<string> {
    const { tagging } = await this.#tenants.get(tenant);
    return createHmac("sha256", createSecretKey(tagging)).update(text).digest("hex").slice(0, TAG_CHARS);
  }

  /** Two processes that need a subject's first key at the same time get the same. */
  async #subjectKey(tenant: string, subject: string): Promise<DataKey> {
    const { wrapping } = await this.#tenants.get(tenant);
    const tag = await this.tag(tenant, subjectText(subject));
    for (let n = 0; ; n++) {
      const kid = subjectKid(tag, n);
      const there = await this.open(tenant, kid);
      if (typeof there !== "string") return there;
      if (there === "destroyed") continue;
      const made = makeKey(tenant, kid, wrapping);
      // A kid that `subjectKid` made has a place.
      const { page } = placeOfKid(kid)!;
      if ((await this.#pages.create(tenant, page, [made.entry])) === "created") return made.key;
      // Another process has made it, and may have destroyed it already.
      const theirs = await this.open(tenant, kid);
      if (typeof theirs !== "string") return theirs;
    }
  }

  async #unwrap(tenant: string, kid: string, wrapped: string): Promise<DataKey> {
    const name = `${tenant}/${kid}`;
    const opened = this.#opened.get(name);
    if (opened?.wrapped === wrapped) return opened.key;
    const { wrapping } = await this.#tenants.get(tenant);
    const bytes = unwrapKey(wrapped, wrapping, name);
    if (!bytes) throw new RepriseError("archive_corrupt", `The key ${kid} can't be unwrapped.`);
    const key = toDataKey(kid, bytes);
    this.#opened.set(name, { key, wrapped });
    return key;
  }
}

function makeKey(tenant: string, kid: string, wrapping: Uint8Array): { key: DataKey; entry: KeyEntry } {
  const key = toDataKey(kid, randomBytes(KEY_BYTES));
  return { key, entry: { wrapped: wrapKey(key.key, wrapping, `${tenant}/${kid}`) } };
}

function toDataKey(kid: string, key: Uint8Array): DataKey {
  return { kid, key, commitment: commitmentOf(key) };
}

function subjectText(subject: string): string {
  return `subject:${subject}`;
}
