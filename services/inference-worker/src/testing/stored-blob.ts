import { hash } from "node:crypto";
import * as blobs from "@reprise/blobs";
import { parseTenantId, type RequestMedia } from "@reprise/protocol";

const TENANT = parseTenantId("acme");
const MAX_BYTES = 100_000_000;
const QUOTA_BYTES = 10_000_000_000;

/** Uploads content as delivery does, and gives what seq 0 says of a request that names it. */
export async function storeBlob(
  storage: blobs.BlobStorage,
  pieces: AsyncIterable<Uint8Array>,
  type = "application/octet-stream",
): Promise<RequestMedia> {
  const upload = await blobs.beginUpload(storage, TENANT, {
    type,
    length: undefined,
    maxBytes: MAX_BYTES,
    quotaBytes: QUOTA_BYTES,
    by: "test",
    ttlSeconds: 3_600,
  });
  const sum = await blobs.receiveContent(storage, upload, pieces);
  const { blob } = await blobs.finishUpload(storage, upload, sum);
  return { blob: blob.id, type: blob.type, bytes: blob.bytes, sha256: blob.sha256 };
}

export async function* piecesOf(content: Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < content.length; from += size) yield content.subarray(from, from + size);
}

/** The description in seq 0 of content that no store has. */
export function mediaOf(content: Uint8Array, type: string, n = 0): RequestMedia {
  return {
    blob: `blob_${n.toString(32).padStart(26, "0")}` as RequestMedia["blob"],
    type,
    bytes: content.length,
    sha256: hash("sha256", content),
  };
}
