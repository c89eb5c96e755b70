/* Uploads, blobs and what is over of them, as one name of the package, `blobs`. */

export { type BlobStorage, type BlobStorageOptions, createBlobStorage } from "./blob-storage.ts";
export type { ChunkWriter } from "./chunk-writer.ts";
export { finishUpload, type FinishedUpload } from "./finish-upload.ts";
export { findBlob, type FoundBlob, readBlob } from "./read-blob.ts";
export { removeBlob, removeBlobRow, removeBlobsOf } from "./remove-blob.ts";
export { isLinkGood, LINK_SECONDS, type SignedLink, signLink } from "./signed-links.ts";
export { type Sweep, sweepBlobs } from "./sweep-blobs.ts";
export {
  abandonUpload,
  beginUpload,
  createWriter,
  type NewUpload,
  type OpenUpload,
  receiveContent,
} from "./uploads.ts";
export { useBlob, type UseOptions } from "./use-blob.ts";
