import type { BlobStore } from "@reprise/archive";

/** What a store can be asked without changing it. */
type ReadableStore = Pick<BlobStore, "get" | "list">;

const NOTHING: ReadableStore = {
  get: async () => undefined,
  async *list() {},
};

/** A copy of a store that costs nothing: what is changed in it is kept in memory, and the store stays as it is. Default: a copy of an empty one. */
export function createOverlay(store: ReadableStore = NOTHING): BlobStore {
  const changes = new Map<string, Uint8Array | undefined>();
  const get: BlobStore["get"] = async (key, range) => {
    if (!changes.has(key)) return store.get(key, range);
    const bytes = changes.get(key);
    return range ? bytes?.subarray(range.offset, range.offset + range.length) : bytes;
  };
  return {
    get,
    async put(key, bytes) {
      changes.set(key, Uint8Array.from(bytes));
    },
    async create(key, bytes) {
      const there = await get(key);
      if (there) return Buffer.compare(there, bytes) === 0 ? "created" : "exists";
      changes.set(key, Uint8Array.from(bytes));
      return "created";
    },
    async *list(prefix) {
      const sizes = new Map<string, number>();
      for await (const { key, bytes } of store.list(prefix)) sizes.set(key, bytes);
      for (const [key, bytes] of changes) {
        if (!key.startsWith(prefix)) continue;
        if (bytes) sizes.set(key, bytes.length);
        else sizes.delete(key);
      }
      const byKey = ([a]: [string, number], [b]: [string, number]) => (a < b ? -1 : 1);
      for (const [key, bytes] of [...sizes].toSorted(byKey)) yield { key, bytes };
    },
    async delete(key) {
      changes.set(key, undefined);
    },
  };
}
