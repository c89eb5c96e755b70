import {
  type Archive,
  type ArchiveReader,
  cosignedKey,
  encodeSegmentHeader,
  inclusionProof,
  type Keyring,
  leafHashOf,
  openSegment,
  openTree,
  parseCheckpoint,
  parseNote,
  type Segment,
  type SegmentProof,
  showMessage,
  splitHashes,
} from "@reprise/archive";
import { type GenerationRef, RepriseError, type Seq } from "@reprise/protocol";

export interface ProveOptions {
  archive: Archive;
  reader: ArchiveReader;
  ref: GenerationRef;
  seq: Seq;
  /** With it the proof shows the event too, and nothing that opens what is sealed. */
  reveal?: Pick<Keyring, "open"> | undefined;
}

/**
 * Makes a proof that an event is in the archive. It is of the newest tree that a witness has cosigned, if the event is in that; else of the
 * newest one that is signed.
 * @throws RepriseError `generation_not_found`; `generation_erased` when the event is to be shown and its key is destroyed; `invalid_request`
 *   when there is no such event; `archive_unavailable`, `archive_corrupt`
 */
export async function proveEvent({ archive, reader, ref, seq, reveal }: ProveOptions): Promise<SegmentProof> {
  const { stretches } = await reader.logOf(ref);
  const place = stretches.find(({ fromSeq, toSeq }) => fromSeq <= seq && seq <= toSeq);
  if (!place) {
    const message = `Event ${seq} of ${ref.generation} is not in the archive.`;
    throw new RepriseError("invalid_request", message, { param: "seq" });
  }
  const segment = await reader.sealedSegment(place.segment);
  const { header, sealed } = segment;
  const event = reveal && (await showEvent(segment, seq, reveal));
  const { index, checkpoint } = await findLeaf(archive, ref.tenant, leafHashOf(segment));
  const cosigned = await archive.store.get(cosignedKey(ref.tenant));
  const note = newestHolding(index, cosigned && Buffer.from(cosigned).toString(), checkpoint);
  const { size } = parseCheckpoint(parseNote(note).text);
  const { hashes } = openTree(archive, ref.tenant);
  const siblings = await inclusionProof(index, size, hashes);
  return {
    proof: "reprise.segment",
    v: 1,
    archive: archive.name,
    seq,
    header: Buffer.from(encodeSegmentHeader(header)).toString(),
    sealed: toBase64(sealed),
    ...(event && { event }),
    index,
    siblings: siblings.map(toBase64),
    checkpoint: note,
  };
}

async function showEvent(
  segment: Segment,
  seq: Seq,
  keyring: Pick<Keyring, "open">,
): Promise<NonNullable<SegmentProof["event"]>> {
  const { tenant, generation, kid, first_seq, nonce } = segment.header;
  const key = await keyring.open(tenant, kid);
  if (key === "destroyed")
    throw new RepriseError("generation_erased", `Generation ${generation} was erased.`);
  if (key === "unknown")
    throw new RepriseError("archive_unavailable", `The keys of the archive lack key ${kid}.`);
  const secrets = { key: key.key, nonce: Buffer.from(nonce, "hex") };
  const { message, salt, siblings } = await showMessage(openSegment(segment, key), seq - first_seq, secrets);
  return {
    stream_seq: message.streamSeq,
    stored_at: message.storedAtUs,
    payload: toBase64(message.payload),
    salt: toBase64(salt),
    siblings: siblings.map(toBase64),
  };
}

/** Where a leaf is in its tree, and the newest checkpoint of that tree. Reads all commits: nothing else says where leaves are. */
async function findLeaf(
  archive: Archive,
  tenant: string,
  leaf: Uint8Array,
): Promise<{ index: number; checkpoint: string }> {
  let index: number | undefined;
  let checkpoint = "";
  let size = 0;
  for await (const { commit } of archive.commits()) {
    if (commit.n >= archive.state.next) break;
    const part = commit.tenants.find((one) => one.tenant === tenant);
    if (!part) continue;
    const leaves = splitHashes(part.leaves);
    const at = leaves.findIndex((one) => Buffer.compare(one, leaf) === 0);
    if (at >= 0) index ??= size + at;
    size += leaves.length;
    ({ checkpoint } = part);
  }
  if (index === undefined)
    throw new RepriseError("archive_corrupt", "The segment that holds the event is no leaf of the tree.");
  return { index, checkpoint };
}

/** A cosigned note is worth more than a newer one without a cosignature. */
function newestHolding(index: number, cosigned: string | undefined, checkpoint: string): string {
  if (cosigned === undefined) return checkpoint;
  return parseCheckpoint(parseNote(cosigned).text).size > index ? cosigned : checkpoint;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
