import { RepriseError } from "../errors/reprise-error.ts";
import { toBase32 } from "../id.ts";

declare const brand: unique symbol;

/** Content that a tenant has uploaded: the same bytes of the same type, of the same tenant, subject and end user, have the same id. */
export type BlobId = string & { readonly [brand]: "BlobId" };
/** One upload, finished or not. */
export type UploadId = string & { readonly [brand]: "UploadId" };

export const BLOB_ID = /^blob_[0-9a-v]{26}$/;
const UPLOAD_ID = /^upl_[0-9a-v]{26}$/;

export function isBlobId(value: unknown): value is BlobId {
  return typeof value === "string" && BLOB_ID.test(value);
}

export function isUploadId(value: unknown): value is UploadId {
  return typeof value === "string" && UPLOAD_ID.test(value);
}

/** @throws RepriseError `blob_not_found`: an id that the platform did not make belongs to no blob. */
export function parseBlobId(value: unknown): BlobId {
  if (isBlobId(value)) return value;
  throw blobNotFound();
}

/**
 * @param mac of the content, by a key of the tenant's: 17 bytes at least, 130 bits of which are used
 * @throws TypeError for less
 */
export function toBlobId(mac: Uint8Array): BlobId {
  return `blob_${toBase32(mac)}` as BlobId;
}

/**
 * @param random at least 17 uniformly random bytes
 * @throws TypeError for less
 */
export function createUploadId(random: Uint8Array): UploadId {
  return `upl_${toBase32(random)}` as UploadId;
}

/** The same whether the id is malformed, another tenant's, or that of a blob which is gone. */
export function blobNotFound(): RepriseError {
  return new RepriseError("blob_not_found", "There is no blob with this id.", { param: "id" });
}
