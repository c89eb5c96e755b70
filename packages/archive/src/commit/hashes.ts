import { hash } from "node:crypto";
import { RepriseError } from "@reprise/protocol";

const HASH_BYTES = 32;

export function sha256(bytes: Uint8Array): Buffer {
  return hash("sha256", bytes, "buffer");
}

export function sha256Hex(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

/** Joins hashes, in base64. */
export function joinHashes(hashes: readonly Uint8Array[]): string {
  return Buffer.concat(hashes).toString("base64");
}

/** @throws RepriseError `archive_corrupt` unless it is whole hashes */
export function splitHashes(text: string): Uint8Array[] {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % HASH_BYTES !== 0)
    throw new RepriseError("archive_corrupt", `${bytes.length} bytes are not whole hashes.`);
  const hashes: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += HASH_BYTES) hashes.push(bytes.subarray(at, at + HASH_BYTES));
  return hashes;
}
