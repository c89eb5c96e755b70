import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import { KEY_BYTES, unwrapKey, wrapKey } from "./wrap.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { encodeStored, readStored, wrappedSchema } from "./stored-object.ts";

/**
 * The key that wraps all others: 32 bytes as base64 or hex.
 * @throws RepriseError `config_invalid`, which does not repeat the text
 */
export function parseMasterKey(text: string): Uint8Array {
  const trimmed = text.trim();
  const bytes = /^[0-9a-fA-F]{64}$/.test(trimmed)
    ? Buffer.from(trimmed, "hex")
    : /^[A-Za-z0-9+/]{43}=?$/.test(trimmed)
      ? Buffer.from(trimmed, "base64")
      : undefined;
  // Not a part of the pool that Node shares among small buffers.
  if (bytes?.length === KEY_BYTES) return Uint8Array.from(bytes);
  throw new RepriseError("config_invalid", `A master key is ${KEY_BYTES} bytes as base64 or hex.`);
}

/** A new key, as base64. */
export function createMasterKey(): string {
  return randomBytes(KEY_BYTES).toString("base64");
}

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
