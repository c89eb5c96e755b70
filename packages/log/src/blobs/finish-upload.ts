import {
  type BlobRecord,
  blobSubject,
  chargeOf,
  mediaTypeOf,
  RepriseError,
  type StreamSeq,
  unixNow,
  uploadNotFound,
  uploadSubject,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import { type ContentSum, sumOf } from "./chunks/chunk-writer.ts";
import { isOver } from "./read-blob.ts";
import { endRemoval, removeBlobRow } from "./remove-blob.ts";
import { type OpenUpload, refOf } from "./uploads.ts";

export interface FinishedUpload {
  readonly blob: BlobRecord;
  /** False where the tenant had the same content already: that blob's time to live begins anew. */
  readonly isNew: boolean;
}

/** Nothing takes an upload away that ends within this time. */
const MARGIN_MS = 60_000;

/*
 * A finished upload becomes a blob in three steps, each by compare-and-set and each repeated by whoever comes again: the upload's row names the
 * blob, so that nothing takes its chunks away; the blob's row names the chunks; the upload's row gives back what was reserved. Whoever does the
 * last one settles the account.
 */

/**
 * @param sum of the content, where it is known: else it is read again
 * @throws RepriseError `invalid_request` where the content is empty, shorter than the upload has said or of another type; `upload_not_found` where
 *   its time is nearly over; `broker_unavailable`, `archive_unavailable`
 */
export async function finishUpload(
  storage: BlobStorage,
  begun: OpenUpload,
  known?: ContentSum,
): Promise<FinishedUpload> {
  const ref = refOf(begun);
  if (isOver(begun.row, unixNow() + MARGIN_MS)) throw uploadNotFound();
  const sum = known ?? (await sumOf(storage.chunks, ref));
  assertWhole(begun, sum);
  const { tenant, row } = begun;
  const { subject, end_user, generation } = row;
  const type = mediaTypeOf(row.type, sum.head);
  const id = await storage.names.idOf(tenant, { sha256: sum.sha256, type, subject, end_user, generation });
  const upload = await putUploadRow(storage, begun, { blob: id });
  const now = unixNow();
  const blob: BlobRecord = {
    version: 1,
    kind: "blob",
    id,
    bytes: sum.bytes,
    sha256: sum.sha256,
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
  const stored = await putBlobRow(storage, upload, blob);
  const isNew = stored.chunks === row.id;
  if (!isNew) await storage.chunks.remove(ref);
  if (upload.row.reserved > 0) {
    const settled = { ...upload.row, reserved: 0 };
    if ((await storage.rows.write(uploadSubject(tenant, row.id), settled, upload.at)) !== undefined)
      await storage.accounts.add(tenant, (isNew ? chargeOf(sum.bytes) : 0) - upload.row.reserved);
  }
  return { blob: stored, isNew };
}

function assertWhole({ row }: OpenUpload, { bytes }: ContentSum): void {
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
  change: { readonly blob: BlobRecord["id"] },
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

/** @returns the row that is there: this one, or the one of an earlier upload of the same content, whose time begins anew */
async function putBlobRow(
  storage: BlobStorage,
  { tenant }: OpenUpload,
  blob: BlobRecord,
): Promise<BlobRecord> {
  const subject = blobSubject(tenant, blob.id);
  for (;;) {
    const { row, at } = await storage.rows.read(subject);
    if (row?.kind === "removed") await endRemoval(storage, { tenant, subject, row, at });
    else if (row?.kind === "blob" && isOver(row, unixNow()))
      await removeBlobRow(storage, { tenant, row, at });
    else {
      const next = row?.kind === "blob" ? renewed(row, blob) : blob;
      if ((await storage.rows.write(subject, next, at)) !== undefined) return next;
    }
  }
}

/** The longer of two times counts. */
function renewed(row: BlobRecord, { ttl_seconds, expires_at }: BlobRecord): BlobRecord {
  return {
    ...row,
    ttl_seconds: Math.max(row.ttl_seconds, ttl_seconds),
    expires_at: row.expires_at > expires_at ? row.expires_at : expires_at,
  };
}
