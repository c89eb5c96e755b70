import { createDecipheriv, createHash, createSecretKey } from "node:crypto";
import { commitmentOf, type DataKey } from "../keys/keyring.ts";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import type { BlobStore } from "../store/blob-store.ts";
import type { BlobCopy } from "../commit/record.ts";
import { type CopiedContent, decodeContent } from "./copied-content.ts";
import { partKey } from "./copy-keys.ts";
import { boundTo, keyOfCopy, nonceOf, PART_CIPHER, PART_TAG_BYTES } from "./part-cipher.ts";
import { COPY_PART_BYTES } from "./seal-copy.ts";

export type { CopiedContent } from "./copied-content.ts";

/**
 * Yields the parts of a copy as stored, one after the other, up to the number in the commit.
 * @throws RepriseError `archive_corrupt` for one that is missing, and after the last if they are not those that were committed;
 *   `archive_unavailable`
 */
export async function* readCopy(
  store: Pick<BlobStore, "get">,
  { key, parts, bytes, sha256 }: BlobCopy,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let read = 0;
  for (let index = 0; index < parts; index++) {
    // A larger object in its place takes no more memory than a part may.
    const length = COPY_PART_BYTES + PART_TAG_BYTES + 1;
    const part = await store.get(partKey(key, index), { offset: 0, length });
    if (!part) throw archiveCorrupt(`${partKey(key, index)} is missing.`);
    read += part.length;
    hash.update(part);
    if (part.length === length || read > bytes) throw archiveCorrupt(`${partKey(key, index)} is too long.`);
    yield part;
  }
  if (read !== bytes || hash.digest("hex") !== sha256)
    throw archiveCorrupt(`${key} is not the copy that was committed.`);
}

/**
 * Yields the description of a copy, and then its content, decrypted. Only a reader that reaches the end knows that the copy is intact.
 * @param parts of the copy: `readCopy`
 * @throws RepriseError `archive_corrupt` if a part was changed or belongs to another copy, or the parts are not the content; `archive_unavailable`
 */
export async function* openCopy(
  copy: BlobCopy,
  parts: AsyncIterable<Uint8Array>,
  key: Pick<DataKey, "key">,
): AsyncGenerator<Uint8Array, CopiedContent> {
  if (commitmentOf(key.key) !== copy.commitment)
    throw archiveCorrupt(`The key is not the one that ${copy.key} was sealed with.`);
  const copyKey = keyOfCopy(key, copy.salt);
  const hash = createHash("sha256");
  let described: CopiedContent | undefined;
  let [index, bytes] = [0, 0];
  for await (const part of parts) {
    const plain = openPart(copy, part, { index, copyKey });
    if (index++ === 0) {
      described = decodeContent(plain);
      if (described?.blob !== copy.blob) throw archiveCorrupt(`${copy.key} is of another blob.`);
      continue;
    }
    bytes += plain.length;
    hash.update(plain);
    yield plain;
  }
  if (!described || bytes !== described.bytes || hash.digest("hex") !== described.sha256)
    throw archiveCorrupt(`${copy.key} does not hold the content of its blob.`);
  return described;
}

function openPart(
  copy: BlobCopy,
  part: Uint8Array,
  { index, copyKey }: { readonly index: number; readonly copyKey: Uint8Array },
): Uint8Array {
  const where = partKey(copy.key, index);
  if (part.length < PART_TAG_BYTES) throw archiveCorrupt(`${where} is too short.`);
  const options = { authTagLength: PART_TAG_BYTES };
  const decipher = createDecipheriv(PART_CIPHER, createSecretKey(copyKey), nonceOf(index), options);
  decipher.setAAD(boundTo(copy, index));
  decipher.setAuthTag(part.subarray(part.length - PART_TAG_BYTES));
  const plain = decipher.update(part.subarray(0, part.length - PART_TAG_BYTES));
  try {
    decipher.final();
  } catch (cause) {
    throw archiveCorrupt(`${where} was changed.`, cause);
  }
  return plain;
}
