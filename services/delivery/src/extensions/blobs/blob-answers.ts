import { BLOB_LIMITS, type BlobRecord } from "@reprise/protocol";

/** A blob as its tenant is shown it. */
export function toBlob({ id, type, bytes, ttl_seconds, created_at, expires_at }: BlobRecord) {
  return { id, object: "blob", type, bytes, ttl_seconds, created_at, expires_at };
}

export function blobPath({ id }: Pick<BlobRecord, "id">): string {
  return `/v1/blobs/${id}`;
}

/**
 * The headers of an answer with a blob's content. A client's file is never shown as a page of this host: browsers save it, and neither guess its
 * type nor run what is in it.
 */
export function contentHeaders({ id, type, bytes, sha256, expires_at }: BlobRecord): Record<string, string> {
  return {
    "content-type": type,
    "content-length": `${bytes}`,
    "content-disposition": "attachment",
    "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "accept-ranges": "none",
    etag: `"${id}"`,
    "repr-digest": `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`,
    "reprise-expires-at": expires_at,
  };
}

/** `Upload-Limit` of answers to uploads. */
export function uploadLimit(maxBytes: number): string {
  return `max-size=${maxBytes}, max-age=${BLOB_LIMITS.uploadSeconds}`;
}
