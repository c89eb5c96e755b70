import type { Transport } from "../http/transport.ts";

/** A `Blob` or a `File`. */
export interface BlobLike {
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Content that can be uploaded. It is in memory as a whole, so that it can be sent again. */
export type BlobContent = BlobLike | ArrayBuffer | Uint8Array;

/** Content that the platform keeps: what a request's part names by `blob`. */
export interface UploadedBlob {
  readonly id: string;
  readonly type: string;
  readonly bytes: number;
  /** Each use moves it on. */
  readonly expires_at: string;
}

export interface UploadOptions {
  /** Its media type. Default: a Blob's own, else what its beginning shows. */
  type?: string;
  /** Whom it is about: an erasure of the subject takes it. */
  subject?: string;
  endUser?: string;
  /** Seconds for which the blob is kept after its last use. Default: the platform's, a day. */
  ttlSeconds?: number;
  signal?: AbortSignal;
}

/** Uploads in one request. One that breaks is sent again whole: the same content is the same blob. */
export async function upload(
  transport: Transport,
  content: BlobContent,
  options: UploadOptions,
): Promise<UploadedBlob> {
  const type = options.type ?? (("type" in content && content.type) || "application/octet-stream");
  const request = {
    method: "POST",
    path: `/v1/blobs${toQuery(options)}`,
    headers: { "content-type": type },
    body: await bytesOf(content),
  } as const;
  return transport.call<UploadedBlob>(request, options.signal);
}

async function bytesOf(content: BlobContent): Promise<ArrayBuffer> {
  if (content instanceof ArrayBuffer) return content;
  return content instanceof Uint8Array ? content.slice().buffer : content.arrayBuffer();
}

function toQuery({ subject, endUser, ttlSeconds }: UploadOptions): string {
  const fields = { subject, end_user: endUser, ttl_seconds: ttlSeconds };
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}
