import { authorization, KEYS } from "./platform.ts";

/** The beginning of any PNG. */
export const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

export interface BlobJson {
  readonly id: string;
  readonly type: string;
  readonly bytes: number;
  readonly expires_at: string;
}

export interface UploadOptions {
  readonly content: Buffer;
  readonly type: string;
  readonly key?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  /** True if the client does not send a length. */
  readonly isChunked?: boolean;
}

/** One upload in one request. */
export async function upload(
  url: string,
  { content, type, key = KEYS.acmeUploader, query = "", headers, isChunked = false }: UploadOptions,
) {
  const response = await fetch(`${url}/v1/blobs${query}`, {
    method: "POST",
    headers: { ...authorization(key), "content-type": type, ...headers },
    body: isChunked ? new Blob([Uint8Array.from(content)]).stream() : content,
    ...(isChunked && { duplex: "half" }),
  } as RequestInit);
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: JSON.parse(text) as unknown };
}
