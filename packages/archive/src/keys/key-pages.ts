import * as z from "zod";
import { LruCache } from "../store/lru-cache.ts";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { KeyPlace } from "./kid.ts";
import { encodeStored, readStored, wrappedSchema } from "./stored-object.ts";

/** A key under its tenant's, or when it was destroyed. */
const entrySchema = z.union([wrappedSchema, z.strictObject({ destroyed_at: z.string() })]);
export type KeyEntry = z.infer<typeof entrySchema>;

const pageSchema = z.strictObject({ keys: z.array(entrySchema) });
const versionSchema = z.union([pageSchema, z.strictObject({ moved_to: z.int().min(1) })]);
type Page = z.infer<typeof pageSchema>;
type Version = z.infer<typeof versionSchema>;

/** Pages: with 200 keys on each some 70 MB. */
const MAX_CACHED = 2_000;

/**
 * Pages of wrapped keys in a store. A page never changes but by losing keys, and many processes may remove keys at the same time: each creates the next
 * version of the page, exclusively, without the keys, and then overwrites the version before with a pointer to the new one. Reading a page and
 * writing it back would bring back keys that another process has destroyed in between. A process that dies between the two steps has destroyed
 * nothing yet, and the next try finishes it. All reads begin at the first version, which names the newest that is known.
 *
 * A page that was read is cached for `recheckMs`: for that time another process may still use a key that was destroyed.
 */
export class KeyPages {
  readonly #store: BlobStore;
  readonly #now: () => number;
  readonly #recheckMs: number;
  readonly #cached = new LruCache<{ page: Promise<Page | undefined>; readAtMs: number }>(MAX_CACHED);
  /** Number of keys that this object has destroyed. */
  #destroys = 0;

  constructor(store: BlobStore, { now, recheckMs }: { now: () => number; recheckMs: number }) {
    this.#store = store;
    this.#now = now;
    this.#recheckMs = recheckMs;
  }

  /**
   * Undefined when there is no such key.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async entry(tenant: string, { page, index }: KeyPlace): Promise<KeyEntry | undefined> {
    const first = firstVersion(tenant, page);
    for (;;) {
      const destroys = this.#destroys;
      const read = await this.#cachedPage(first);
      // What was read may be from before.
      if (destroys === this.#destroys) return read?.keys[index];
    }
  }

  /** Creates a page and caches it, because it is read next. @throws RepriseError `archive_unavailable` */
  async create(tenant: string, page: string, keys: readonly KeyEntry[]): Promise<"created" | "exists"> {
    const first = firstVersion(tenant, page);
    const made = { page: Promise.resolve({ keys: [...keys] }), readAtMs: this.#now() };
    const destroys = this.#destroys;
    const outcome = await this.#store.create(first, encodeStored({ keys }));
    if (outcome === "created" && destroys === this.#destroys) this.#cached.set(first, made);
    return outcome;
  }

  /** @throws RepriseError `archive_unavailable`, `archive_corrupt` */
  async destroy(tenant: string, page: string, indexes: ReadonlySet<number>): Promise<void> {
    const first = firstVersion(tenant, page);
    const destroyed = { destroyed_at: new Date().toISOString() };
    for (let version = 0; ;) {
      const there = await this.#readVersion(first, version);
      if (!there) break;
      if ("moved_to" in there) {
        version = there.moved_to;
        continue;
      }
      const isLeft = there.keys.some((entry, index) => indexes.has(index) && "wrapped" in entry);
      if (!isLeft) break;
      const keys = there.keys.map((entry, index) => (indexes.has(index) ? destroyed : entry));
      const next = version + 1;
      // Whether this one or another is the next version: it is read next.
      await this.#store.create(versionKey(first, next), encodeStored({ keys }));
      await this.#store.put(versionKey(first, version), encodeStored({ moved_to: next }));
      if (version > 0) await this.#store.put(first, encodeStored({ moved_to: next }));
      version = next;
    }
    this.#destroys++;
    this.#cached.delete(first);
  }

  #cachedPage(first: string): Promise<Page | undefined> {
    const cached = this.#cached.get(first);
    if (cached && this.#now() - cached.readAtMs < this.#recheckMs) return cached.page;
    const reading = { page: this.#readPage(first), readAtMs: this.#now() };
    this.#cached.set(first, reading);
    const forget = () => {
      if (this.#cached.get(first) === reading) this.#cached.delete(first);
    };
    reading.page.then((page) => {
      // It may come at any moment.
      if (!page) forget();
    }, forget);
    return reading.page;
  }

  async #readPage(first: string): Promise<Page | undefined> {
    for (let version = 0; ;) {
      const there = await this.#readVersion(first, version);
      if (!there || "keys" in there) return there;
      version = there.moved_to;
    }
  }

  async #readVersion(first: string, version: number): Promise<Version | undefined> {
    const key = versionKey(first, version);
    const there = await readStored(this.#store, key, versionSchema);
    const isForward = !there || "keys" in there || there.moved_to > version;
    if (isForward && (there || version === 0)) return there;
    throw archiveCorrupt(`The keyring's object ${key} is not where the one before leads.`);
  }
}

function firstVersion(tenant: string, page: string): string {
  return `tenant/${tenant}/${page}`;
}

function versionKey(first: string, version: number): string {
  return version === 0 ? first : `${first}.${version}`;
}
