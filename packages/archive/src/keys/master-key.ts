import { randomBytes } from "node:crypto";
import { RepriseError } from "@reprise/protocol";
import { KEY_BYTES } from "./wrap.ts";

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
