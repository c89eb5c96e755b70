import { type BlobRecord, blobSubject, STREAM_START, unixNow, uploadNotFound } from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import type { ChunkPlace } from "./chunks/chunk-store.ts";
import { isOver } from "./read-blob.ts";
import type { PlacedUpload } from "./settle-upload.ts";
import { refOf } from "./uploads.ts";

/** Where an upload stands. */
export interface UploadPlace {
  readonly place: ChunkPlace;
  /** What it has become. */
  readonly blob: BlobRecord | undefined;
}

/** @throws RepriseError `upload_not_found` where what it has become is gone; `broker_unavailable`, `archive_unavailable` */
export async function placeOf(
  storage: Pick<BlobStorage, "rows" | "chunks">,
  upload: PlacedUpload,
): Promise<UploadPlace> {
  const blob = await finishedBlob(storage, upload);
  // Its chunks may be those of an earlier upload.
  if (blob) return { place: { chunks: 0, bytes: blob.bytes, last: STREAM_START, isSealed: true }, blob };
  return { place: await storage.chunks.place(refOf(upload)), blob };
}

/**
 * @returns undefined where it is not finished
 * @throws RepriseError `upload_not_found` where what it has become is gone; `broker_unavailable`
 */
export async function finishedBlob(
  { rows }: Pick<BlobStorage, "rows">,
  { tenant, row }: PlacedUpload,
): Promise<BlobRecord | undefined> {
  if (row.blob === undefined) return undefined;
  const { row: blob } = await rows.read(blobSubject(tenant, row.blob));
  if (blob?.kind === "blob" && !isOver(blob, unixNow())) return blob;
  if (row.reserved === 0) throw uploadNotFound();
  return undefined;
}
