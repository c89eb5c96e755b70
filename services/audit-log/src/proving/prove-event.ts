import {
  type Archive,
  type ArchiveReader,
  cosignedKey,
  encodeSegmentHeader,
  inclusionProof,
  type Keyring,
  leafHashOf,
  openTree,
  parseCheckpoint,
  parseNote,
  type SegmentHeader,
  type SegmentProof,
  splitHashes,
} from "@reprise/archive";
import { type GenerationRef, RepriseError } from "@reprise/protocol";
import { isKeyOfSubject } from "../lifecycle/find-generations.ts";

export interface ProveOptions {
  archive: Archive;
  reader: ArchiveReader;
  ref: GenerationRef;
  seq: number;
  /** With it the proof shows the text too. */
  reveal?: Pick<Keyring, "open"> | undefined;
  /** The proof has the event's text, and nothing that shows that it is that: for generations whose key must not be given away. */
  claim?: boolean | undefined;
}

/**
 * Makes a proof that an event is in the archive. It is of the newest tree that a witness has cosigned, if the event is in that; else of the
 * newest one that is signed.
 * @throws RepriseError `generation_not_found`; `generation_erased` when the text is asked for and its key is destroyed; `invalid_request` when
 *   there is no such event, or the key of its text opens other generations too; `archive_unavailable`, `archive_corrupt`
 */
export async function proveEvent({
  archive,
  reader,
  ref,
  seq,
  reveal,
  claim,
}: ProveOptions): Promise<SegmentProof> {
  const { stretches } = await reader.logOf(ref);
  const place = stretches.find(({ fromSeq, toSeq }) => fromSeq <= seq && seq <= toSeq);
  if (!place) {
    const message = `Event ${seq} of ${ref.generation} is not in the archive.`;
    throw new RepriseError("invalid_request", message, { param: "seq" });
  }
  const segment = await reader.sealedSegment(place.segment);
  const { header, sealed } = segment;
  const key = reveal && (await keyOf(header, reveal));
  const claimed = claim ? await textOf(reader, ref, seq) : undefined;
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
    ...(key && { key: toBase64(key) }),
    ...(claimed !== undefined && { claimed }),
    index,
    siblings: siblings.map(toBase64),
    checkpoint: note,
  };
}

async function textOf(reader: ArchiveReader, ref: GenerationRef, seq: number): Promise<string> {
  for await (const { payload } of reader.events(ref, { fromSeq: seq }))
    return Buffer.from(payload).toString();
  throw new RepriseError("archive_corrupt", `Event ${seq} of ${ref.generation} is not in its segment.`);
}

async function keyOf(
  { tenant, generation, kid }: SegmentHeader,
  keyring: Pick<Keyring, "open">,
): Promise<Uint8Array> {
  if (isKeyOfSubject(kid)) {
    const message = `The key of ${generation} opens all that is kept of its subject: it can be proved, and not revealed. --with-text gives the text to be taken on trust.`;
    throw new RepriseError("invalid_request", message, { param: "reveal" });
  }
  const key = await keyring.open(tenant, kid);
  if (key === "destroyed")
    throw new RepriseError("generation_erased", `Generation ${generation} was erased.`);
  if (key === "unknown")
    throw new RepriseError("archive_unavailable", `The keys of the archive lack key ${kid}.`);
  return key.key;
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

/** A cosigned note is worth more than a newer one that nobody has cosigned. */
function newestHolding(index: number, cosigned: string | undefined, checkpoint: string): string {
  if (cosigned === undefined) return checkpoint;
  return parseCheckpoint(parseNote(cosigned).text).size > index ? cosigned : checkpoint;
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
