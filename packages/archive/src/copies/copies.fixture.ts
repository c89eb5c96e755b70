import { createHash, randomBytes } from "node:crypto";
import { asStreamSeq } from "@reprise/protocol";
import { commitmentOf, type DataKey } from "../keys/keyring.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { BlobCopy } from "../commit/record.ts";
import { copyKey } from "./copy-keys.ts";
import { sealCopy } from "./seal-copy.ts";

export const TENANT = "acme";
export const BLOB = "blob_0123456789abcdefghijklmnop";

export function createDataKey(kid = "p.AAAAAAAAAAAA.0"): DataKey {
  const key = randomBytes(32);
  return { kid, key, commitment: commitmentOf(key) };
}

/** A copy of some content that comes in pieces of this size. */
export async function copyOf(
  store: BlobStore,
  key: DataKey,
  content: Uint8Array,
  { piece = 131_072, says = {} }: { piece?: number; says?: { bytes?: number; sha256?: string } } = {},
): Promise<BlobCopy | undefined> {
  const draft = {
    at: "2026-11-24T12:00:00.000Z",
    blob: BLOB,
    key: copyKey(
      { tenant: TENANT, blob: BLOB, epoch: 0, streamSeq: asStreamSeq(7) },
      randomBytes(8).toString("hex"),
    ),
    salt: randomBytes(16).toString("hex"),
  };
  const sha256 = createHash("sha256").update(content).digest("hex");
  const described = { blob: BLOB, type: "image/png", bytes: content.length, sha256, ...says };
  const pieces = async function* () {
    const memory = Buffer.alloc(piece);
    for (let at = 0; at < content.length; at += piece) {
      const some = content.subarray(at, at + piece);
      memory.set(some);
      // The same memory for each, as a reader of the broker may give it.
      yield memory.subarray(0, some.length);
    }
  };
  return sealCopy(store, draft, { ...described, content: pieces() }, key);
}
