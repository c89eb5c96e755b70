export { type Blobs, blobsOf, type DownloadedBlob } from "./blobs-of.ts";
export type { BlobContent, BlobLike, UploadedBlob, UploadOptions } from "./upload.ts";
