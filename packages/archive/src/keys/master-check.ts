import type { BlobStore } from "../store/blob-store.ts";
import { encodeStored, readStored, wrappedSchema } from "./stored-object.ts";
import { KEY_BYTES, unwrapKey, wrapKey } from "./wrap.ts";

/** The object that tells one master key from another: something known, wrapped by it. */
export const MASTER_CHECK = "check";

export function encodeMasterCheck(masterKey: Uint8Array): Uint8Array {
  return encodeStored({ wrapped: wrapKey(new Uint8Array(KEY_BYTES), masterKey, MASTER_CHECK) });
}

/** Undefined when the store has had no master key yet. */
export async function isMasterKey(store: BlobStore, masterKey: Uint8Array): Promise<boolean | undefined> {
  const there = await readStored(store, MASTER_CHECK, wrappedSchema);
  return there && unwrapKey(there.wrapped, masterKey, MASTER_CHECK) !== undefined;
}
