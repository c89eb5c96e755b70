import {
  type BlobId,
  blobNotFound,
  type BlobRecord,
  blobSubject,
  chargeOf,
  type RemovedRow,
  type StreamSeq,
  tenantBlobSubjects,
  type TenantId,
  type UploadId,
  type UploadRecord,
  uploadSubject,
} from "@reprise/protocol";
import type { PlacedRow } from "./blob-rows.ts";
import type { BlobStorage } from "./blob-storage.ts";
import { isOfBlob, settleUpload } from "./settle-upload.ts";

/*
 * A removal first replaces the record with a row that names the chunks, by compare-and-set: from then on the blob does not exist. Then the chunks
 * are removed, and then the row. If the process dies in between, the row remains, and the next sweep or upload of the same content continues.
 */

/**
 * Removes a blob of this tenant, regardless of its retention time.
 * @returns the removed record
 * @throws RepriseError `blob_not_found`, `broker_unavailable`
 */
export async function removeBlob(storage: BlobStorage, tenant: TenantId, id: BlobId): Promise<BlobRecord> {
  const subject = blobSubject(tenant, id);
  for (;;) {
    const { row, at } = await storage.rows.read(subject);
    if (row?.kind === "removed") await endRemoval(storage, { tenant, subject, row, at });
    if (row?.kind !== "blob") throw blobNotFound();
    if (await removeBlobRow(storage, { tenant, row, at })) return row;
  }
}

/** @returns false where the row has changed since it was read: nothing was done */
export async function removeBlobRow(
  storage: BlobStorage,
  { tenant, row, at }: { tenant: TenantId; row: BlobRecord; at: StreamSeq },
): Promise<boolean> {
  const subject = blobSubject(tenant, row.id);
  // What is given back was charged.
  const { row: upload, at: lies } = await storage.rows.read(uploadSubject(tenant, row.chunks));
  if (upload?.kind === "upload") {
    const settled = await settleUpload(storage, { tenant, row: upload, at: lies }, chargeOf(row.bytes));
    if (!settled) return false;
  }
  const removed = await putRemoved(storage, { subject, chunks: row.chunks, at });
  if (!removed) return false;
  // An upload that is being removed has given its bytes back, and nothing was charged for what it became beside that.
  if (upload?.kind !== "removed") await storage.accounts.add(tenant, -chargeOf(row.bytes));
  await endRemoval(storage, { tenant, subject, ...removed });
  return true;
}

/**
 * Removes a blob whose upload was removed before anything was charged, as long as it has that upload's chunks.
 * @throws RepriseError `broker_unavailable`
 */
export async function removeUnchargedBlob(
  storage: BlobStorage,
  tenant: TenantId,
  { id, chunks }: BlobRecord,
): Promise<void> {
  const subject = blobSubject(tenant, id);
  for (;;) {
    const { row, at } = await storage.rows.read(subject);
    if (row?.kind !== "blob" || row.chunks !== chunks) return;
    const removed = await putRemoved(storage, { subject, chunks, at });
    if (removed) return endRemoval(storage, { tenant, subject, ...removed });
  }
}

/**
 * Removes an upload, and its chunks where they are no blob's.
 * @returns false where the row has changed since it was read
 */
export async function removeUploadRow(
  storage: BlobStorage,
  { tenant, row, at }: { tenant: TenantId; row: UploadRecord; at: StreamSeq },
): Promise<boolean> {
  const subject = uploadSubject(tenant, row.id);
  if (await isOfBlob(storage, { tenant, row })) {
    const settled = await settleUpload(storage, { tenant, row, at }, chargeOf(row.bytes ?? 0));
    if (!settled) return false;
    await storage.rows.remove(subject, settled.at);
    return true;
  }
  const removed = await putRemoved(storage, { subject, chunks: row.id, at });
  if (!removed) return false;
  await storage.accounts.add(tenant, -row.reserved);
  await endRemoval(storage, { tenant, subject, ...removed });
  return true;
}

interface Removal {
  readonly tenant: TenantId;
  readonly subject: string;
  readonly row: RemovedRow;
  readonly at: StreamSeq;
}

/** The rest of a removal that has begun. May be repeated. */
export async function endRemoval(
  { rows, chunks }: BlobStorage,
  { tenant, subject, row, at }: Removal,
): Promise<void> {
  await chunks.remove({ tenant, upload: row.chunks });
  await rows.remove(subject, at);
}

async function putRemoved(
  { rows }: BlobStorage,
  { subject, chunks, at }: { subject: string; chunks: UploadId; at: StreamSeq },
): Promise<{ row: RemovedRow; at: StreamSeq } | undefined> {
  const row = { version: 1, kind: "removed", chunks } as const;
  const stored = await rows.write(subject, row, at);
  return stored === undefined ? undefined : { row, at: stored };
}

/** Whose blobs are to be removed. */
export interface BlobOwners {
  /** Asked once for each subject. */
  readonly isOf: (subject: string) => Promise<boolean>;
  /** Blobs made by these generations are removed, regardless of their end user. */
  readonly generations?: readonly string[];
}

/**
 * Removes all blobs and unfinished uploads of a tenant's subjects and generations.
 * @returns how many there were
 * @throws RepriseError `broker_unavailable`
 */
export async function removeBlobsOf(
  storage: BlobStorage,
  tenant: TenantId,
  { isOf, generations = [] }: BlobOwners,
): Promise<number> {
  const made = new Set(generations);
  const answers = new Map<string, boolean>();
  let removed = 0;
  for await (const listed of storage.rows.list(tenantBlobSubjects(tenant))) {
    let { row, at } = listed;
    if (row.kind !== "blob" && row.kind !== "upload") continue;
    if (row.generation === undefined || !made.has(row.generation)) {
      if (row.subject === undefined) continue;
      const isTheirs = answers.get(row.subject) ?? (await isOf(row.subject));
      answers.set(row.subject, isTheirs);
      if (!isTheirs) continue;
    }
    while (row?.kind === "blob" || row?.kind === "upload") {
      const isDone =
        row.kind === "blob"
          ? await removeBlobRow(storage, { tenant, row, at })
          : await removeUploadRow(storage, { tenant, row, at });
      if (isDone) {
        removed++;
        break;
      }
      const placed: PlacedRow = await storage.rows.read(listed.subject);
      if (!placed.row) break;
      ({ row, at } = { row: placed.row, at: placed.at });
    }
  }
  return removed;
}
