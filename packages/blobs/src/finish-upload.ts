import {
  type BlobRecord,
  blobSubject,
  chargeOf,
  mediaTypeOf,
  RepriseError,
  type StreamSeq,
  type TenantId,
  unixNow,
  uploadSubject,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import { type ContentSum, uploadRemoved } from "./chunk-writer.ts";
import { isOver } from "./read-blob.ts";
import { endRemoval, removeBlobRow, removeUnchargedBlob } from "./remove-blob.ts";
import { settleUpload } from "./settle-upload.ts";
import type { OpenUpload } from "./uploads.ts";

export interface FinishedUpload {
  readonly blob: BlobRecord;
  /** The place of its row. */
  readonly at: StreamSeq;
  /** False if the tenant had the same content already: that blob's time to live begins again. */
  readonly isNew: boolean;
}

/** Nothing takes an upload away that ends within this time. */
const MARGIN_MS = 60_000;

/*
 * A finished upload becomes a blob in three steps, each by compare-and-set: the upload's row names the blob, so that its chunks are not removed;
 * the blob's row names the chunks; the upload's row releases the reservation, and the process that writes that settles the account. A process that
 * dies in between leaves rows from which a sweep settles the account, or removes the chunks.
 */

/**
 * @param sum of the content
 * @throws RepriseError `invalid_request` if the content is empty or of another type; `blob_not_found` if the upload was removed, or its time is nearly
 *   over; `broker_unavailable`
 */
export async function finishUpload(
  storage: BlobStorage,
  begun: OpenUpload,
  { sha256, bytes, head }: ContentSum,
): Promise<FinishedUpload> {
  if (isOver(begun.row, unixNow() + MARGIN_MS)) throw uploadRemoved();
  const { tenant, row } = begun;
  if (bytes === 0)
    throw new RepriseError("invalid_request", "A blob has at least one byte.", { param: "body" });
  const { subject, end_user, generation } = row;
  const type = mediaTypeOf(row.type, head);
  const id = await storage.names.idOf(tenant, { sha256, type, subject, end_user, generation });
  const upload = await nameBlob(storage, begun, { blob: id, bytes });
  const now = unixNow();
  const blob: BlobRecord = {
    version: 1,
    kind: "blob",
    id,
    bytes,
    sha256,
    chunks: row.id,
    type,
    by: row.by,
    ...(subject !== undefined && { subject }),
    ...(end_user !== undefined && { end_user }),
    ...(generation !== undefined && { generation }),
    ttl_seconds: row.ttl_seconds,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + row.ttl_seconds * 1_000).toISOString(),
  };
  const { row: stored, at } = await putBlobRow(storage, upload, blob);
  return { blob: await settle(storage, upload, stored), at, isNew: stored.chunks === row.id };
}

/**
 * The end of every finish.
 * @throws RepriseError `blob_not_found` if the upload was removed before its blob was there, which is none then, or what it became is gone
 */
async function settle(storage: BlobStorage, upload: OpenUpload, blob: BlobRecord): Promise<BlobRecord> {
  const { tenant } = upload;
  const isIts = blob.chunks === upload.row.id;
  if (!isIts) await storage.chunks.remove({ tenant, upload: upload.row.id });
  const charge = isIts ? chargeOf(blob.bytes) : 0;
  for (let last = upload; !(await settleUpload(storage, last, charge));) {
    const { row, at } = await storage.rows.read(uploadSubject(tenant, upload.row.id));
    if (row?.kind === "upload") last = { tenant, row, at };
    // A removal takes chunks away before the row; of an upload that was settled first it takes the row alone.
    else if (!isIts || (!row && (await isStored(storage, tenant, blob)))) break;
    else {
      await removeUnchargedBlob(storage, tenant, blob);
      throw uploadRemoved();
    }
  }
  return blob;
}

/** @throws RepriseError `blob_not_found` if the upload was removed meanwhile */
async function nameBlob(
  { rows }: BlobStorage,
  { tenant, row, at }: OpenUpload,
  change: Pick<BlobRecord, "bytes"> & { readonly blob: BlobRecord["id"] },
): Promise<OpenUpload> {
  const next = { ...row, ...change };
  const stored = await rows.write(uploadSubject(tenant, row.id), next, at);
  if (stored === undefined) throw uploadRemoved();
  return { tenant, row: next, at: stored };
}

/**
 * @returns the stored row: this one, or that of an earlier upload of the same content, whose retention time starts again
 * @throws RepriseError `blob_not_found` if the upload was removed meanwhile, or its blob
 */
async function putBlobRow(
  storage: BlobStorage,
  { tenant }: OpenUpload,
  blob: BlobRecord,
): Promise<{ readonly row: BlobRecord; readonly at: StreamSeq }> {
  const subject = blobSubject(tenant, blob.id);
  for (;;) {
    const { row, at } = await storage.rows.read(subject);
    if (row?.kind === "removed") await endRemoval(storage, { tenant, subject, row, at });
    else if (row?.kind === "blob" && isOver(row, unixNow()))
      await removeBlobRow(storage, { tenant, row, at });
    else if (row?.kind === "blob") {
      // Content of which the store has lost something is there again.
      if (!(await isStored(storage, tenant, row))) await removeBlobRow(storage, { tenant, row, at });
      else {
        const next = renewed(row, blob);
        const stored = await storage.rows.write(subject, next, at);
        if (stored !== undefined) return { row: next, at: stored };
      }
    } else {
      const stored = await storage.rows.write(subject, blob, at);
      if (stored === undefined) continue;
      if (await isStored(storage, tenant, blob)) return { row: blob, at: stored };
      await storage.rows.remove(subject, stored);
      throw uploadRemoved();
    }
  }
}

async function isStored(
  { chunks }: BlobStorage,
  tenant: TenantId,
  { chunks: upload, bytes }: BlobRecord,
): Promise<boolean> {
  return (await chunks.bytesOf({ tenant, upload })) >= bytes;
}

/** The longer of two times counts. */
function renewed(row: BlobRecord, { ttl_seconds, expires_at }: BlobRecord): BlobRecord {
  return {
    ...row,
    ttl_seconds: Math.max(row.ttl_seconds, ttl_seconds),
    expires_at: row.expires_at > expires_at ? row.expires_at : expires_at,
  };
}
