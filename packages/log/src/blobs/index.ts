/* Uploads, blobs and what is over of them, as one name of the package, `blobs`. */

export { type BlobStorage, type BlobStorageOptions, createBlobStorage } from "./blob-storage.ts";
export type { ChunkPlace } from "./chunks/chunk-store.ts";
export type { ChunkWriter } from "./chunks/chunk-writer.ts";
export { finishUpload, type FinishedUpload } from "./finish-upload.ts";
export type { ObjectStore } from "./chunks/object-chunks.ts";
export { findBlob, type FoundBlob, readBlob } from "./read-blob.ts";
export { removeBlob, removeBlobRow, removeBlobsOf } from "./remove-blob.ts";
export { isLinkGood, LINK_SECONDS, type SignedLink, signLink } from "./signed-links.ts";
export { type Sweep, sweepBlobs } from "./sweep-blobs.ts";
export { placeOf, type UploadPlace } from "./upload-place.ts";
export {
  abandonUpload,
  beginUpload,
  createWriter,
  findUpload,
  type NewUpload,
  type OpenUpload,
  receiveContent,
  type Received,
  refOf,
} from "./uploads.ts";
export { useBlob, type UseOptions } from "./use-blob.ts";
