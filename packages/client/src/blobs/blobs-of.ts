import type { Client } from "../client.ts";
import type { Exchange } from "../http/http.ts";
import type { Transport } from "../http/transport.ts";
import { type BlobContent, upload, type UploadedBlob, type UploadOptions } from "./upload.ts";

export interface DownloadedBlob {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Every call needs an API key with the role `blob`, throws RepriseError, and retries what is retryable. */
export interface Blobs {
  /** Uploads in one request, which is sent again whole if it breaks. The same content has the same id. */
  upload(content: BlobContent, options?: UploadOptions): Promise<UploadedBlob>;
  /** The whole content, in memory. */
  download(id: string, options?: { signal?: AbortSignal }): Promise<DownloadedBlob>;
  /** @throws RepriseError `blob_not_found`, also where an earlier try got through and the reply to it was lost */
  delete(id: string, options?: { signal?: AbortSignal }): Promise<void>;
}

export function blobsOf({ transport }: Client): Blobs {
  const pathOf = (id: string) => `/v1/blobs/${transport.segment(id)}`;
  return {
    upload: (content, options = {}) => upload(transport, content, options),
    download: (id, { signal } = {}) =>
      transport.retry((running) => download(transport, pathOf(id), running), signal),
    async delete(id, { signal } = {}) {
      await transport.call({ method: "DELETE", path: pathOf(id) }, signal);
    },
  };
}

async function download(transport: Transport, path: string, signal: AbortSignal): Promise<DownloadedBlob> {
  const exchange = await transport.exchange({ method: "GET", path, headers: { accept: "*/*" } }, signal);
  try {
    if (exchange.status !== 200) throw await exchange.error();
    return { type: exchange.header("content-type") ?? "", bytes: await readAll(transport, exchange) };
  } finally {
    exchange.close();
  }
}

async function readAll(transport: Transport, exchange: Exchange): Promise<Uint8Array> {
  const bytes = new Uint8Array(Number(exchange.header("content-length")));
  let at = 0;
  for (let chunk = await exchange.read(); chunk; chunk = await exchange.read()) {
    if (at + chunk.length > bytes.length) break;
    bytes.set(chunk, at);
    at += chunk.length;
  }
  if (at === bytes.length) return bytes;
  throw transport.error("connection_lost", `The content ended at ${at} of ${bytes.length} bytes.`);
}
