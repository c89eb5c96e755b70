import { createCipheriv, createHash, createSecretKey, type Hash } from "node:crypto";
import type { DataKey } from "../keys/keyring.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { BlobCopy } from "../commit/record.ts";
import { partKey } from "./copy-keys.ts";
import { type CopiedContent, encodeContent } from "./copied-content.ts";
import { boundTo, keyOfCopy, nonceOf, PART_CIPHER } from "./part-cipher.ts";

/** Bytes of content in a part. One part, and the same part sealed, are in memory while a copy is made, read or verified. */
export const COPY_PART_BYTES = 4 * 1_024 * 1_024;

/** A copy before it is stored. */
export type CopyDraft = Omit<BlobCopy, "kind" | "parts" | "bytes" | "sha256" | "kid" | "commitment">;

/**
 * Stores the parts of a copy, encrypted, as its content comes: all that is missing is the commit that names them.
 * @param content all of it, and what it has to be
 * @returns undefined where the content is another: its parts are removed
 * @throws RepriseError `archive_unavailable`; what reading the content throws
 */
export async function sealCopy(
  store: BlobStore,
  draft: CopyDraft,
  { content, ...described }: CopiedContent & { readonly content: AsyncIterable<Uint8Array> },
  key: DataKey,
): Promise<BlobCopy | undefined> {
  const parts = 1 + Math.ceil(described.bytes / COPY_PART_BYTES);
  const writing = { store, place: { key: draft.key, parts }, copyKey: keyOfCopy(key, draft.salt) };
  const stored = { hash: createHash("sha256"), bytes: 0 };
  const plain = createHash("sha256");
  let [index, held, heldBytes, read] = [0, [] as Uint8Array[], 0, 0];
  const storeNext = async (chunks: readonly Uint8Array[]) => {
    stored.bytes += await storePart(writing, { index: index++, chunks, hash: stored.hash });
  };
  await storeNext([encodeContent(described)]);
  for await (const chunk of content) {
    read += chunk.length;
    if (read > described.bytes) break;
    plain.update(chunk);
    for (let at = 0; at < chunk.length;) {
      const taken = chunk.subarray(at, at + COPY_PART_BYTES - heldBytes);
      // Who gives the chunks may use their memory again.
      held.push(Uint8Array.from(taken));
      heldBytes += taken.length;
      at += taken.length;
      if (heldBytes < COPY_PART_BYTES) continue;
      await storeNext(held);
      [held, heldBytes] = [[], 0];
    }
  }
  if (heldBytes > 0) await storeNext(held);
  if (read !== described.bytes || plain.digest("hex") !== described.sha256) {
    await removeParts(store, writing.place);
    return undefined;
  }
  const { at, tag, generation, blob, salt } = draft;
  return {
    kind: "blob_copied",
    at,
    ...(tag !== undefined && { tag }),
    ...(generation !== undefined && { generation }),
    blob,
    key: draft.key,
    parts,
    bytes: stored.bytes,
    sha256: stored.hash.digest("hex"),
    kid: key.kid,
    commitment: key.commitment,
    salt,
  };
}

/** May be repeated. @throws RepriseError `archive_unavailable` */
export async function removeParts(
  store: Pick<BlobStore, "delete">,
  { key, parts }: { readonly key: string; readonly parts: number },
): Promise<void> {
  for (let index = 0; index < parts; index++) await store.delete(partKey(key, index));
}

interface Writing {
  readonly store: BlobStore;
  readonly place: { readonly key: string; readonly parts: number };
  readonly copyKey: Uint8Array;
}

/** @returns how long it is as it is stored */
async function storePart(
  { store, place, copyKey }: Writing,
  { index, chunks, hash }: { index: number; chunks: readonly Uint8Array[]; hash: Hash },
): Promise<number> {
  const cipher = createCipheriv(PART_CIPHER, createSecretKey(copyKey), nonceOf(index));
  cipher.setAAD(boundTo(place, index));
  const pieces = chunks.map((chunk) => cipher.update(chunk));
  pieces.push(cipher.final(), cipher.getAuthTag());
  const sealed = Buffer.concat(pieces);
  hash.update(sealed);
  await store.put(partKey(place.key, index), sealed);
  return sealed.length;
}
