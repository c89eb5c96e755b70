import type { BlobStore } from "@reprise/archive";
import { decodeMarker, encodeMarker, type MarkedStore } from "./store-marker.ts";
import type { StoreIdentity } from "./store-identity.ts";

const MARKER_KEY = "store.json";

export function markedObjects(store: BlobStore): MarkedStore {
  return {
    async marker() {
      const bytes = await store.get(MARKER_KEY);
      return bytes && decodeMarker(bytes, MARKER_KEY);
    },
    async mark(marker) {
      await store.create(MARKER_KEY, encodeMarker(marker));
    },
    remark: (marker) => store.put(MARKER_KEY, encodeMarker(marker)),
  };
}

/**
 * A store whose emptiness is believed only while it is the one that it was. What is missing is asked for by looking at the marker afterwards. What is written is written between two looks: so nothing is made
 * anew where the folder was, and what went into a folder that was moved away in that moment does not count as written.
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
