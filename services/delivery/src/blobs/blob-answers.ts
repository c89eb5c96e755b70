import { BLOB_LIMITS, type BlobRecord, unixNow } from "@reprise/protocol";
import type { blobs } from "@reprise/log";
import type { FastifyReply } from "fastify";
import { streamOf } from "../connections/http2.ts";
import { INTEROP_VERSION, toBoolean } from "./upload-headers.ts";

/** A blob as its tenant is shown it. */
export function toBlob({ id, type, bytes, ttl_seconds, created_at, expires_at }: BlobRecord) {
  return { id, object: "blob", type, bytes, ttl_seconds, created_at, expires_at };
}

export function blobPath({ id }: Pick<BlobRecord, "id">): string {
  return `/v1/blobs/${id}`;
}

export function uploadPath({ row }: Pick<blobs.OpenUpload, "row">): string {
  return `/v1/uploads/${row.id}`;
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

/** Where an upload stands. */
export function uploadHeaders(
  upload: blobs.OpenUpload,
  { offset, isComplete }: { offset: number; isComplete: boolean },
): Record<string, string> {
  const { row } = upload;
  const leftSeconds = Math.floor((Date.parse(row.expires_at) - unixNow()) / 1_000);
  return {
    "upload-offset": `${offset}`,
    "upload-complete": toBoolean(isComplete),
    ...(row.length !== undefined && { "upload-length": `${row.length}` }),
    "upload-limit": `max-size=${row.max_bytes}, max-age=${Math.max(0, leftSeconds)}`,
  };
}

/** Where an upload stands, and which blob it has become. */
export function standing(
  upload: blobs.OpenUpload,
  { place, blob }: blobs.UploadPlace,
): Record<string, string> {
  return {
    ...uploadHeaders(upload, { offset: place.bytes, isComplete: blob !== undefined }),
    ...(blob && { "content-location": blobPath(blob) }),
  };
}

/** What an upload may be, before there is one. */
export function newUploadLimit(maxBytes: number): string {
  return `max-size=${maxBytes}, max-age=${BLOB_LIMITS.uploadSeconds}`;
}

/** Tells a client that knows of it where its upload is, before its content is there: a break finds it with that. */
export function announceUpload({ raw }: FastifyReply, upload: blobs.OpenUpload): void {
  const location = uploadPath(upload);
  const stream = streamOf(raw);
  if (stream) {
    if (!stream.destroyed)
      stream.additionalHeaders({ ":status": 104, location, "upload-draft-interop-version": INTEROP_VERSION });
    return;
  }
  // An answer has the socket when it is its turn.
  raw.socket?.write(
    `HTTP/1.1 104 Upload Resumption Supported\r\nLocation: ${location}\r\nUpload-Draft-Interop-Version: ${INTEROP_VERSION}\r\n\r\n`,
  );
}
