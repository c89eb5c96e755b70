import type { BlobStore } from "../store/blob-store.ts";
import { assertKeyPrefix, assertObjectKey } from "../store/object-key.ts";

/** A store in memory. Every call happens at one moment, when it is made. */
export function createMemoryStore(objects: Map<string, Uint8Array> = new Map()): BlobStore {
  return {
    async get(key, range) {
      const bytes = objects.get(assertObjectKey(key));
      return (
        bytes && Uint8Array.from(range ? bytes.subarray(range.offset, range.offset + range.length) : bytes)
      );
    },
    async put(key, bytes) {
      objects.set(assertObjectKey(key), Uint8Array.from(bytes));
    },
    async create(key, bytes) {
      const there = objects.get(assertObjectKey(key));
      if (there) return Buffer.compare(there, bytes) === 0 ? "created" : "exists";
      objects.set(key, Uint8Array.from(bytes));
      return "created";
    },
    async *list(prefix, after = "") {
      const begins = assertKeyPrefix(prefix);
      const keys = [...objects.keys()].filter((key) => key.startsWith(begins) && key > after);
      for (const key of keys.toSorted()) {
        const bytes = objects.get(key);
        if (bytes) yield { key, bytes: bytes.length };
      }
    },
    async delete(key) {
      objects.delete(assertObjectKey(key));
    },
  };
}
