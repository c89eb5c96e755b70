import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

/** A key under another one: nonce, ciphertext and tag in base64. @param context what the key is for; unwrapping needs the same */
export function wrapKey(key: Uint8Array, wrapping: Uint8Array, context: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, createSecretKey(wrapping), nonce);
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]).toString("base64");
}

/**
 * Undefined when it was wrapped by another key, or for something else. Keys are kept for long, so each has memory of its own: a part of
 * the pool that Node shares among small buffers would keep all 64 KiB of it alive.
 */
export function unwrapKey(wrapped: string, wrapping: Uint8Array, context: string): Uint8Array | undefined {
  const bytes = Buffer.from(wrapped, "base64");
  if (bytes.length !== NONCE_BYTES + KEY_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, createSecretKey(wrapping), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const key = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    decipher.final();
    return key;
  } catch {
    return undefined;
  }
}
