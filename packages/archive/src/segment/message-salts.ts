import { createCipheriv, createHmac, createSecretKey } from "node:crypto";

export const SALT_BYTES = 16;
const LABEL = "reprise message salts v1";
const CIPHER = "aes-256-ctr";
const ZERO_IV = new Uint8Array(16);

/**
 * A salt for each message of a segment, one behind the other. They are not stored: they follow from the data key, and without it a
 * message can't be guessed from its hash, also once the key is destroyed. One salt says nothing of the others.
 * @param nonce the segment's, which never comes twice with one key
 */
export function messageSalts(key: Uint8Array, nonce: Uint8Array, count: number): Uint8Array {
  const derived = createHmac("sha256", createSecretKey(key)).update(LABEL).update(nonce).digest();
  return createCipheriv(CIPHER, createSecretKey(derived), ZERO_IV).update(new Uint8Array(count * SALT_BYTES));
}
