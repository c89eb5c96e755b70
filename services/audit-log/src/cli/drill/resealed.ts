import { createCipheriv, createDecipheriv } from "node:crypto";
import {
  type BlobStore,
  type DataKey,
  encodeSegmentFile,
  encodeSegmentHeader,
  joinHashes,
  type Keyring,
  leafHashOf,
  type Segment,
  type SegmentHeader,
  sha256Hex,
  splitHashes,
} from "@reprise/archive";
import {
  existing,
  NotApplicable,
  partsOf,
  readCommits,
  readSegments,
  removedKeys,
  signAgain,
  writeCommits,
} from "./forgery.ts";
import type { Tampering } from "./tamperings.ts";

const CIPHER = "aes-256-gcm";
const TAG_BYTES = 16;

/**
 * A holder of all keys has sealed a segment whose header has the root of other messages: what that root proves was never in it. All
 * else in the archive fits.
 */
export const RESEALED: Tampering = {
  name: "with all keys, from the beginning: a segment's messages are not those of its messages_root",
  isSealed: true,
  async apply(store, { signer, keyring } = {}) {
    if (!signer || !keyring) throw new NotApplicable("the keys are not at hand");
    const commits = await readCommits(store);
    const removed = removedKeys(commits);
    const part = existing(
      partsOf(commits).find(
        ({ files, removes }) => removes.length === 0 && files.some(({ key }) => !removed.has(key)),
      ),
      "files",
    );
    const file = existing(
      part.files.find(({ key }) => !removed.has(key)),
      "files",
    );

    const segments = await readSegments(store, file.key);
    const { segment, key } = await findOpen(segments, keyring);
    const forged = sealUnder(segment, { ...segment.header, messages_root: "00".repeat(32) }, key);
    const bytes = encodeSegmentFile(segments.map((one) => (one === segment ? forged : one)));
    const sha256 = sha256Hex(bytes);
    const newKey = file.key.replace(file.sha256.slice(0, 12), sha256.slice(0, 12));
    await store.put(newKey, bytes);
    const leaf = leafHashOf(segment);
    const leaves = splitHashes(part.leaves).map((one) =>
      Buffer.compare(one, leaf) === 0 ? leafHashOf(forged) : one,
    );
    const files = part.files.map((one) =>
      one === file ? { ...file, key: newKey, sha256, bytes: bytes.length } : one,
    );
    const changed = { ...part, files, leaves: joinHashes(leaves) };
    const forgedCommits = commits.map((commit) => ({
      ...commit,
      tenants: commit.tenants.map((one) => (one === part ? changed : one)),
    }));
    await writeCommits(store, forgedCommits);
    await signAgain(store, signer);
    await deleteTiles(store);
  },
};

/** The first segment whose key was not destroyed. */
async function findOpen(
  segments: readonly Segment[],
  keyring: Pick<Keyring, "open">,
): Promise<{ segment: Segment; key: DataKey }> {
  for (const segment of segments) {
    const key = await keyring.open(segment.header.tenant, segment.header.kid);
    if (typeof key !== "string") return { segment, key };
  }
  throw new NotApplicable("no segment whose key is there");
}

/** The same text under another header. */
function sealUnder({ header, sealed }: Segment, other: SegmentHeader, { key }: DataKey): Segment {
  const nonce = Buffer.from(header.nonce, "hex");
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(encodeSegmentHeader(header));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const text = Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(encodeSegmentHeader(other));
  return {
    header: other,
    sealed: Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]),
  };
}

async function deleteTiles(store: BlobStore): Promise<void> {
  for await (const { key } of store.list("tile/")) await store.delete(key);
}
