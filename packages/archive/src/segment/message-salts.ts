import { createCipheriv, createHmac, createSecretKey } from "node:crypto";

export const SALT_BYTES = 16;
const LABEL = "reprise message salts v1";
const CIPHER = "aes-256-ctr";
const ZERO_IV = new Uint8Array(16);

/**
 * Returns a salt for each message of a segment, concatenated. They are not stored but derived from the data key: without the key a
 * message can't be guessed from its hash, even after the key is destroyed. One salt reveals nothing about the others.
 * @param nonce the segment's, unique for each use of a key
 */
export function messageSalts(key: Uint8Array, nonce: Uint8Array, count: number): Uint8Array {
  const derived = createHmac("sha256", createSecretKey(key)).update(LABEL).update(nonce).digest();
  return createCipheriv(CIPHER, createSecretKey(derived), ZERO_IV).update(new Uint8Array(count * SALT_BYTES));
}
