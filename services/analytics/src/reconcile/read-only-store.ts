import type { BlobStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";

/** A store in which nothing can be changed. */
export function readOnly(store: BlobStore): BlobStore {
  const refuse = async (key: string): Promise<never> => {
    throw new RepriseError("archive_unavailable", `${key} is not there, and nothing is written here.`);
  };
  return {
    get: (key, range) => store.get(key, range),
    list: (prefix, after) => store.list(prefix, after),
    put: refuse,
    create: refuse,
    delete: refuse,
  };
}
