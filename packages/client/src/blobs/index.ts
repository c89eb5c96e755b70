export { type Blobs, blobsOf, type DownloadedBlob } from "./blobs-of.ts";
export type { BlobContent, BlobLike, ByteStream } from "./parts-of.ts";
export type { UploadedBlob, UploadOptions } from "./upload.ts";
