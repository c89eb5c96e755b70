import type { ArchiveRecord } from "../commit/record.ts";

/** The bytes of a blob, as a commit names them. */
export type BlobCopy = Extract<ArchiveRecord, { kind: "blob_copied" }>;

/** The copies that a tenant's records leave: not those whose key is destroyed, nor those whose time was over. By `key`, oldest first. */
export function liveCopies(records: readonly ArchiveRecord[]): Map<string, BlobCopy> {
  const copies = new Map<string, BlobCopy>();
  const destroyed = new Set<string>();
  for (const record of records) {
    if (record.kind === "blob_copied") copies.set(record.key, record);
    else if (record.kind === "copies_deleted") for (const key of record.keys) copies.delete(key);
    else if (record.kind === "key_destroyed") for (const kid of record.kids) destroyed.add(kid);
  }
  for (const [key, { kid }] of copies) if (destroyed.has(kid)) copies.delete(key);
  return copies;
}
