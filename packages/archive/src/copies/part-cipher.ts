import { createHmac, createSecretKey } from "node:crypto";
import type { DataKey } from "../keys/keyring.ts";
import { partKey } from "./copy-keys.ts";

export const PART_CIPHER = "aes-256-gcm";
export const PART_TAG_BYTES = 16;
const NONCE_BYTES = 12;
const PREFIX = Buffer.from("reprise blob copy v1");

/** A key for one copy alone, so that the numbers of its parts are nonces. @param salt 16 bytes, hex, random */
export function keyOfCopy({ key }: Pick<DataKey, "key">, salt: string): Uint8Array {
  return createHmac("sha256", createSecretKey(key)).update(PREFIX).update(Buffer.from(salt, "hex")).digest();
}

export function nonceOf(index: number): Uint8Array {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUInt32BE(index, NONCE_BYTES - 4);
  return nonce;
}

/** Returns the associated data of a part: its own key, and the number of parts, so that none is left out at the end. */
export function boundTo({ key, parts }: { key: string; parts: number }, index: number): Uint8Array {
  return Buffer.from(`${partKey(key, index)} ${parts}`);
}
