import { type BlobStore, probeStore } from "@reprise/archive";

/** A store that creates exclusively, or else is fenced: which of the two is found out when the first object is created. @throws RepriseError `archive_unavailable` from `create` */
export function createCommitStore(store: BlobStore, fence: (store: BlobStore) => BlobStore): BlobStore {
  let chosen: Promise<BlobStore> | undefined;
  const choose = async () => ((await probeStore(store)) === "conditional" ? store : fence(store));
  return {
    async create(key, bytes) {
      if (!chosen) {
        chosen = choose();
        chosen.catch(() => (chosen = undefined));
      }
      return (await chosen).create(key, bytes);
    },
    get: (key, range) => store.get(key, range),
    put: (key, bytes) => store.put(key, bytes),
    list: (prefix, after) => store.list(prefix, after),
    delete: (key) => store.delete(key),
  };
}
