import { RepriseError } from "@reprise/protocol";
import type { BlobStore } from "../store/blob-store.ts";
import { encodeMasterCheck, isMasterKey, MASTER_CHECK } from "./master-key.ts";
import { encodeStored, readStored, wrappedSchema } from "./stored-object.ts";
import { foreignKey, TENANT_KEYS, wrongMasterKey } from "./tenant-keys.ts";
import { unwrapKey, wrapKey } from "./wrap.ts";

export interface RewrapOptions {
  readonly store: BlobStore;
  readonly oldMasterKey: Uint8Array;
  readonly newMasterKey: Uint8Array;
}

/**
 * Wraps the tenants' keys with another master key; no other key changes, and neither does the data that they seal. Stop all writers of the
 * archive first: a new tenant would get a key under the old one. After an interruption neither master key opens everything:
 * call it again with the same two, which also finds keys that came late.
 * @returns the number of tenants whose key was wrapped again
 * @throws RepriseError `config_invalid` when the keys are under neither; `archive_corrupt` when one of them is; `archive_unavailable`
 */
export async function rewrapKeys({ store, oldMasterKey, newMasterKey }: RewrapOptions): Promise<number> {
  const isOld = await isMasterKey(store, oldMasterKey);
  if (isOld === undefined)
    throw new RepriseError("config_invalid", "There are no keys of an audit log here.");
  if (!isOld && !(await isMasterKey(store, newMasterKey))) throw wrongMasterKey(MASTER_CHECK);
  let rewrapped = 0;
  for await (const { key: name } of store.list(TENANT_KEYS)) {
    const stored = await readStored(store, name, wrappedSchema);
    if (!stored || unwrapKey(stored.wrapped, newMasterKey, name)) continue;
    const key = unwrapKey(stored.wrapped, oldMasterKey, name);
    if (!key) throw foreignKey(name);
    await store.put(name, encodeStored({ wrapped: wrapKey(key, newMasterKey, name) }));
    rewrapped++;
  }
  await store.put(MASTER_CHECK, encodeMasterCheck(newMasterKey));
  return rewrapped;
}
