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
  type UploadRecord,
  uploadSubject,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import { ChunkWriter, type ContentSum } from "./chunk-writer.ts";
import { removeUploadRow } from "./remove-blob.ts";
import type { PlacedUpload } from "./settle-upload.ts";

/** An upload that has begun. */
export type OpenUpload = PlacedUpload;

export interface NewUpload {
  /** The declared media type. */
  readonly type: string;
  /** The content's length, if it is known. */
  readonly length: number | undefined;
  /** The most that a blob of the tenant may have. */
  readonly maxBytes: number;
  /** The most that all blobs of the tenant may have. */
  readonly quotaBytes: number;
  readonly by: string;
  readonly subject?: string | undefined;
  readonly endUser?: string | undefined;
  /** The generation that makes the blob, if it is not made by a client. */
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

/**
 * Takes what a client sends, and stores it as it comes: it is read no faster than it is stored.
 * @throws RepriseError `body_too_large`, `blob_not_found` if the upload is removed meanwhile, `invalid_request` if the content is not of its type,
 *   `broker_unavailable`; what `source` throws
 */
export async function receiveContent(
  storage: Pick<BlobStorage, "chunks">,
  upload: OpenUpload,
  source: AsyncIterable<Uint8Array>,
): Promise<ContentSum> {
  const writer = createWriter(storage, upload);
  for await (const piece of source) await writer.write(piece);
  await writer.flush();
  const sum = writer.sum();
  mediaTypeOf(upload.row.type, sum.head);
  return sum;
}

/** Returns a writer for callers that pass the content piece by piece. Its methods throw as `receiveContent` does. */
export function createWriter(
  { chunks }: Pick<BlobStorage, "chunks">,
  { tenant, row }: OpenUpload,
): ChunkWriter {
  return new ChunkWriter({ chunks, ref: { tenant, upload: row.id }, maxBytes: row.max_bytes });
}

/** Gives up an upload that is no blob yet. May be repeated. @throws RepriseError `broker_unavailable` */
export async function abandonUpload(storage: BlobStorage, tenant: TenantId, id: UploadId): Promise<void> {
  for (;;) {
    const { row, at } = await storage.rows.read(uploadSubject(tenant, id));
    if (row?.kind !== "upload") return;
    // What it has become is deleted by its own id.
    if (row.blob !== undefined && row.reserved === 0) return;
    if (await removeUploadRow(storage, { tenant, row, at })) return;
  }
}
