import { type ArchiveReader, leafHashOf } from "@reprise/archive";
import type { AccessRecord, AuditRecord, GenerationRef, DeliveryMark } from "@reprise/protocol";
import { toFoundGeneration, toAuditGeneration } from "../search/audit-generation.ts";

/** The newest of each are told: an answer has to fit into a message. */
const MOST_READERS = 1_000;
const MOST_ACCESSES = 1_000;

/**
 * Everything that is kept about a generation, save its events. Of an erased one what was never encrypted, and the accesses to it.
 * @throws RepriseError `generation_not_found`, `archive_unavailable`, `archive_corrupt`
 */
export async function readGenerationRecord(reader: ArchiveReader, ref: GenerationRef): Promise<AuditRecord> {
  const layout = await reader.logOf(ref);
  const erasedAt = reader.erasedAt(ref);
  const segments: AuditRecord["segments"][number][] = [];
  for (const segment of await reader.segmentsOf(ref, ["log"])) {
    const { first_seq, last_seq } = segment.header;
    const leaf = Buffer.from(leafHashOf(await reader.sealedSegment(segment))).toString("hex");
    segments.push({ leaf, first_seq, last_seq });
  }
  const generation = toAuditGeneration(toFoundGeneration(layout), erasedAt);
  const verdict = erasedAt === undefined ? await reader.verdictOf(ref) : undefined;
  const { readers, accesses } = await readOps(reader, ref);
  return {
    ...generation,
    readers: readers.slice(-MOST_READERS),
    ...(verdict && { verdict }),
    accesses: accesses.slice(-MOST_ACCESSES),
    segments,
  };
}

/** The last mark of each connection, in the order in which they came, and the accesses. */
export async function readOps(
  reader: ArchiveReader,
  ref: GenerationRef,
): Promise<{ readers: DeliveryMark[]; accesses: AccessRecord[] }> {
  const marks = new Map<string, DeliveryMark>();
  const accesses: AccessRecord[] = [];
  for await (const record of reader.opsOf(ref)) {
    if (record.kind === "delivered") for (const mark of record.readers) marks.set(mark.reader, mark);
    else if (record.kind === "access") accesses.push(record);
  }
  return { readers: [...marks.values()], accesses };
}
