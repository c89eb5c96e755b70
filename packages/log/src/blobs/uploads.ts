import { randomBytes } from "node:crypto";
import {
  BLOB_LIMITS,
  chargeOf,
  createUploadId,
  type GenerationId,
  mediaTypeOf,
  RepriseError,
  STREAM_START,
  type TenantId,
  unixNow,
  type UploadId,
  uploadNotFound,
  type UploadRecord,
  uploadSubject,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import type { ChunkPlace, UploadRef } from "./chunks/chunk-store.ts";
import { ChunkWriter, type ContentLength, type ContentSum } from "./chunks/chunk-writer.ts";
import { isOver } from "./read-blob.ts";
import { removeUploadRow } from "./remove-blob.ts";
import type { PlacedUpload } from "./settle-upload.ts";

/** An upload that goes on. */
export type OpenUpload = PlacedUpload;

export interface NewUpload {
  /** The declared media type. */
  readonly type: string;
  /** How long the content is, where that is known. */
  readonly length: number | undefined;
  /** The most that a blob of the tenant may have. */
  readonly maxBytes: number;
  /** The most that all blobs of the tenant may have. */
  readonly quotaBytes: number;
  readonly by: string;
  readonly subject?: string | undefined;
  readonly endUser?: string | undefined;
  /** What makes it, where that is no client. */
  readonly generation?: GenerationId | undefined;
  readonly ttlSeconds: number;
}

/**
 * Begins an upload, and keeps room for it: for as much as it says that it is, or as it may be.
 * @throws RepriseError `body_too_large`, `limit_exceeded`, `broker_unavailable`
 */
export async function beginUpload(
  { rows, accounts }: BlobStorage,
  tenant: TenantId,
  { type, length, maxBytes, quotaBytes, by, subject, endUser, generation, ttlSeconds }: NewUpload,
): Promise<OpenUpload> {
  if (length !== undefined && length > maxBytes)
    throw new RepriseError("body_too_large", `The blob is larger than ${maxBytes} bytes.`, { param: "body" });
  const id = createUploadId(randomBytes(17));
  const reserved = chargeOf(length ?? maxBytes);
  const now = unixNow();
  const row: UploadRecord = {
    version: 1,
    kind: "upload",
    id,
    ...(length !== undefined && { length }),
    max_bytes: length ?? maxBytes,
    reserved,
    type,
    by,
    ...(subject !== undefined && { subject }),
    ...(endUser !== undefined && { end_user: endUser }),
    ...(generation !== undefined && { generation }),
    ttl_seconds: ttlSeconds,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + BLOB_LIMITS.uploadSeconds * 1_000).toISOString(),
  };
  await accounts.add(tenant, reserved, quotaBytes);
  try {
    const at = await rows.write(uploadSubject(tenant, id), row, STREAM_START);
    if (at !== undefined) return { tenant, row, at };
  } catch (error) {
    // The row may be stored all the same; a sweep puts the account right then.
    await accounts.add(tenant, -reserved).catch(() => {});
    throw error;
  }
  throw new RepriseError("internal", "Two uploads have the same id.");
}

/** @throws RepriseError `upload_not_found`, `broker_unavailable` */
export async function findUpload(
  { rows }: Pick<BlobStorage, "rows">,
  tenant: TenantId,
  id: UploadId,
): Promise<OpenUpload> {
  const { row, at } = await rows.read(uploadSubject(tenant, id));
  if (row?.kind !== "upload" || row.id !== id || isOver(row, unixNow())) throw uploadNotFound();
  return { tenant, row, at };
}

export function refOf({ tenant, row }: OpenUpload): UploadRef {
  return { tenant, upload: row.id };
}

/** What a request has brought. */
export interface Received {
  readonly place: ChunkPlace;
  /** Of the whole content, where this request has brought all of it. */
  readonly sum: ContentSum | ContentLength;
}

/**
 * Takes what a client sends, and stores it as it comes: it is read no faster than it is stored. What had come before the client broke off is
 * stored as well.
 * @param source throws when the client breaks off
 * @throws RepriseError `body_too_large`, `upload_conflict`, `invalid_request` where the content is not of its type, `broker_unavailable`; what
 *   `source` throws
 */
export async function receiveContent(
  { chunks }: BlobStorage,
  upload: OpenUpload,
  place: ChunkPlace,
  source: AsyncIterable<Uint8Array>,
): Promise<Received> {
  const { row } = upload;
  const writer = new ChunkWriter({ chunks, ref: refOf(upload), place, maxBytes: row.max_bytes });
  let isCut = true;
  try {
    for await (const piece of cutOffAware(source, () => (isCut = true))) {
      isCut = false;
      await writer.write(piece);
    }
    isCut = false;
    await writer.flush();
  } catch (error) {
    if (isCut) await writer.flushCut();
    throw error;
  }
  const sum = writer.sum();
  if (sum.sha256 !== undefined) mediaTypeOf(row.type, sum.head);
  return { place: writer.place, sum };
}

/**
 * Takes the content of an upload that has none yet, as whoever makes it hands it over.
 * @throws when it is written to: RepriseError `body_too_large`, `broker_unavailable`, `archive_unavailable`
 */
export function createWriter({ chunks }: BlobStorage, upload: OpenUpload): ChunkWriter {
  const place = { chunks: 0, bytes: 0, last: STREAM_START };
  return new ChunkWriter({ chunks, ref: refOf(upload), place, maxBytes: upload.row.max_bytes });
}

/** Tells an error of the source from one of storing: `onWait` is called before each piece is waited for. */
async function* cutOffAware(
  source: AsyncIterable<Uint8Array>,
  onWait: () => void,
): AsyncGenerator<Uint8Array> {
  onWait();
  for await (const piece of source) {
    yield piece;
    onWait();
  }
}

/** Gives up an upload that is no blob yet. May be repeated. @throws RepriseError `broker_unavailable`, `archive_unavailable` */
export async function abandonUpload(storage: BlobStorage, tenant: TenantId, id: UploadId): Promise<void> {
  for (;;) {
    const { row, at } = await storage.rows.read(uploadSubject(tenant, id));
    if (row?.kind !== "upload") return;
    // What it has become is deleted by its own id.
    if (row.blob !== undefined && row.reserved === 0) return;
    if (await removeUploadRow(storage, { tenant, row, at })) return;
  }
}
