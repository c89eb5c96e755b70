import { type BlobId, isBlobId, isUploadId, type UploadId } from "../blob/blob-id.ts";
import { isTenantId, type TenantId } from "../id.ts";

/*
 * Where blobs are in the broker: what is known of each in BLOBS, the last value of each subject; their bytes in BLOB_CHUNKS. Ids
 * and names of their kind are the only parts that vary.
 */

/** Rows of blobs and uploads. */
export const BLOBS_STREAM = "BLOBS";
export const BLOBS_SUBJECTS = "blob.>";
/** Their bytes: all chunks of an upload have one subject. */
export const BLOB_CHUNKS_STREAM = "BLOB_CHUNKS";
export const BLOB_CHUNKS_SUBJECTS = "chunk.>";

/** Where a blob's record is. */
export function blobSubject(tenant: TenantId, blob: BlobId): string {
  return `blob.${tenant}.content.${blob}`;
}

/** Where an upload's record is. */
export function uploadSubject(tenant: TenantId, upload: UploadId): string {
  return `blob.${tenant}.upload.${upload}`;
}

/** Returns the subject of the number of bytes that a tenant has stored. */
export function blobAccountSubject(tenant: TenantId): string {
  return `blob.${tenant}.account.all`;
}

/** The key that a tenant's ids are made with. */
export function blobKeySubject(tenant: TenantId): string {
  return `blob.${tenant}.key.ids`;
}

/** When a process has last looked for what is over. */
export const BLOB_SWEEP_SUBJECT = "blob.sweep";

/** All records of a tenant. */
export function tenantBlobSubjects(tenant: TenantId): string {
  return `blob.${tenant}.>`;
}

/** Where the bytes of an upload are, which are those of its blob when it is finished. */
export function chunkSubject(tenant: TenantId, upload: UploadId): string {
  return `chunk.${tenant}.${upload}`;
}

export type BlobSubject =
  | { readonly kind: "content"; readonly tenant: TenantId; readonly id: BlobId }
  | { readonly kind: "upload"; readonly tenant: TenantId; readonly id: UploadId };

/** Undefined for a subject that is neither a blob's nor an upload's. */
export function parseBlobSubject(subject: string): BlobSubject | undefined {
  const [first, tenant, kind, id, ...rest] = subject.split(".");
  if (first !== "blob" || !isTenantId(tenant) || rest.length > 0) return undefined;
  if (kind === "content" && isBlobId(id)) return { kind, tenant, id };
  if (kind === "upload" && isUploadId(id)) return { kind, tenant, id };
  return undefined;
}

/** Undefined for a subject that `chunkSubject` does not make. */
export function parseChunkSubject(subject: string): { tenant: TenantId; upload: UploadId } | undefined {
  const [first, tenant, upload, ...rest] = subject.split(".");
  if (first !== "chunk" || !isTenantId(tenant) || !isUploadId(upload) || rest.length > 0) return undefined;
  return { tenant, upload };
}
