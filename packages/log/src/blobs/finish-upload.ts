import {
  type BlobRecord,
  blobSubject,
  chargeOf,
  mediaTypeOf,
  RepriseError,
  type StreamSeq,
  type TenantId,
  unixNow,
  uploadNotFound,
  uploadSubject,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import type { UploadRef } from "./chunks/chunk-store.ts";
import { type ContentLength, type ContentSum, goneOn, sumOf } from "./chunks/chunk-writer.ts";
import { isOver } from "./read-blob.ts";
import { endRemoval, removeBlobRow, removeUnchargedBlob } from "./remove-blob.ts";
import { settleUpload } from "./settle-upload.ts";
import { finishedBlob } from "./upload-place.ts";
import { type OpenUpload, refOf } from "./uploads.ts";

export interface FinishedUpload {
  readonly blob: BlobRecord;
  /** Where its row lies. Absent where this upload was finished before. */
  readonly at?: StreamSeq;
  /** False where the tenant had the same content already: that blob's time to live begins anew. */
  readonly isNew: boolean;
}

/** Nothing takes an upload away that ends within this time. */
const MARGIN_MS = 60_000;

/*
 * A finished upload becomes a blob in four steps, each by compare-and-set and each repeated by whoever comes again: the chunks are sealed, so that
 * no other request adds to what was summed; the upload's row names the blob, so that nothing takes its chunks away; the blob's row names the chunks;
 * the upload's row gives back what was reserved. Whoever does the last one settles the account. An upload becomes one blob: once it is settled, it
 * is what it became, or nothing.
 */

/**
 * @param sum of the content: what is not known of it is read again
 * @throws RepriseError `invalid_request` where the content is empty, shorter than the upload has said or of another type; `upload_conflict` where
 *   the upload has other bytes than those; `upload_not_found` where its time is nearly over, or what it became is gone; `broker_unavailable`,
 *   `archive_unavailable`
 */
export async function finishUpload(
  storage: BlobStorage,
  begun: OpenUpload,
  sum: ContentSum | ContentLength,
): Promise<FinishedUpload> {
  const ref = refOf(begun);
  if (isOver(begun.row, unixNow() + MARGIN_MS)) throw uploadNotFound();
  const { tenant, row } = begun;
  const { bytes } = sum;
  const earlier = await finishedBlob(storage, begun);
  if (earlier) return { blob: await settle(storage, begun, earlier), isNew: false };
  assertWhole(row, bytes);
  await seal(storage, ref, bytes);
  const { sha256, head } = sum.sha256 === undefined ? await sumOf(storage.chunks, ref) : sum;
  const { subject, end_user, generation } = row;
  const type = mediaTypeOf(row.type, head);
  const id = await storage.names.idOf(tenant, { sha256, type, subject, end_user, generation });
  const upload = await putUploadRow(storage, begun, { blob: id, bytes });
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

/** Nothing comes behind so many bytes any more. */
async function seal({ chunks }: BlobStorage, ref: UploadRef, bytes: number): Promise<void> {
  const place = await chunks.place(ref);
  if (place.bytes !== bytes) throw goneOn();
  if (place.isSealed || (await chunks.seal(ref, place))) return;
  // A request that finishes it too has done it.
  const { isSealed, bytes: now } = await chunks.place(ref);
  if (!isSealed || now !== bytes) throw goneOn();
}

/**
 * The end of every finish.
 * @throws RepriseError `upload_not_found` where the upload was removed before its blob was there, which is none then, or what it became is gone
 */
async function settle(storage: BlobStorage, upload: OpenUpload, blob: BlobRecord): Promise<BlobRecord> {
  const { tenant } = upload;
  const isIts = blob.chunks === upload.row.id;
  if (!isIts) await storage.chunks.remove(refOf(upload));
  const charge = isIts ? chargeOf(blob.bytes) : 0;
  for (let last = upload; !(await settleUpload(storage, last, charge));) {
    const { row, at } = await storage.rows.read(uploadSubject(tenant, upload.row.id));
    if (row?.kind === "upload") last = { tenant, row, at };
    // A removal takes chunks away before the row; of an upload that was settled first it takes the row alone.
    else if (!isIts || (!row && (await isStored(storage, tenant, blob)))) break;
    else {
      await removeUnchargedBlob(storage, tenant, blob);
      throw uploadNotFound();
    }
  }
  return blob;
}

function assertWhole(row: OpenUpload["row"], bytes: number): void {
  if (bytes === 0)
    throw new RepriseError("invalid_request", "A blob has at least one byte.", { param: "body" });
  if (row.length === undefined || row.length === bytes) return;
  const message = `The upload has ${bytes} bytes, and was to have ${row.length}.`;
  throw new RepriseError("invalid_request", message, { param: "Upload-Length" });
}

/** @throws RepriseError `upload_not_found` where it was removed meanwhile */
async function putUploadRow(
  { rows }: BlobStorage,
  { tenant, row, at }: OpenUpload,
  change: Pick<BlobRecord, "bytes"> & { readonly blob: BlobRecord["id"] },
): Promise<OpenUpload> {
  const subject = uploadSubject(tenant, row.id);
  for (let last: { row: OpenUpload["row"]; at: StreamSeq } = { row, at }; ;) {
    if (last.row.blob === change.blob) return { tenant, ...last };
    const next = { ...last.row, ...change };
    const stored = await rows.write(subject, next, last.at);
    if (stored !== undefined) return { tenant, row: next, at: stored };
    const placed = await rows.read(subject);
    if (placed.row?.kind !== "upload") throw uploadNotFound();
    last = { row: placed.row, at: placed.at };
  }
}

/**
 * @returns the row that is there: this one, or the one of an earlier upload of the same content, whose time begins anew
 * @throws RepriseError `upload_not_found` where the upload was removed meanwhile, or its blob
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
      throw uploadNotFound();
    }
  }
}

async function isStored(
  { chunks }: BlobStorage,
  tenant: TenantId,
  { chunks: upload, bytes }: BlobRecord,
): Promise<boolean> {
  return (await chunks.place({ tenant, upload })).bytes >= bytes;
}

/** The longer of two times counts. */
function renewed(row: BlobRecord, { ttl_seconds, expires_at }: BlobRecord): BlobRecord {
  return {
    ...row,
    ttl_seconds: Math.max(row.ttl_seconds, ttl_seconds),
    expires_at: row.expires_at > expires_at ? row.expires_at : expires_at,
  };
}
