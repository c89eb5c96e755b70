import type { BlobStore } from "@reprise/archive";
import type { RowSource } from "../row-source.ts";
import type { StoreIdentity } from "./store-identity.ts";

/**
 * Wraps a store so that a missing object is believed only while the store has its marker. After an object is found missing, the marker is checked. A write is
 * done between two checks: so no folder is
 * created at a place that has lost its folder, and a write to a folder that was moved away at that moment is not acknowledged.
 */
export function createIdentifiedStore(store: BlobStore, identity: Pick<StoreIdentity, "check">): BlobStore {
  const between = async <T>(write: () => Promise<T>): Promise<T> => {
    await identity.check();
    const result = await write();
    await identity.check();
    return result;
  };
  return {
    async get(key, range) {
      const bytes = await store.get(key, range);
      if (!bytes) await identity.check();
      return bytes;
    },
    async *list(prefix, after) {
      yield* store.list(prefix, after);
      await identity.check();
    },
    put: (key, bytes) => between(() => store.put(key, bytes)),
    create: (key, bytes) => between(() => store.create(key, bytes)),
    delete: (key) => between(() => store.delete(key)),
  };
}

/** Rows that count only if the store, looked at after the reading, is the one that it was. */
export function identifyRows(
  rows: RowSource & AsyncDisposable,
  identity: Pick<StoreIdentity, "check">,
): RowSource & AsyncDisposable {
  const checked = async <T>(read: Promise<T>): Promise<T> => {
    const result = await read;
    await identity.check();
    return result;
  };
  return {
    read: (query, create) => checked(rows.read(query, create)),
    page: (query) => checked(rows.page(query)),
    objectsOf: (generations) => checked(rows.objectsOf(generations)),
    [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
  };
}
