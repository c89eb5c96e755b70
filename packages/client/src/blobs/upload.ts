import type { Exchange } from "../http/http.ts";
import type { Transport } from "../http/transport.ts";
import { pathOf, withExchange } from "./blob-exchange.ts";
import { type BlobContent, lengthOf, type Part, partsOf } from "./parts-of.ts";

/*
 * An upload follows draft-ietf-httpbis-resumable-upload, as PROTOCOL.md §17.4 has it. A content of one part is sent in one request, which is
 * repeated whole: the same content is the same blob. A longer one first gets an address, by a request without content, so that nothing of it is
 * lost with a broken connection; then each part goes there. After a break the platform is asked how far it has come.
 */

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
  /** How long it is kept behind its last use. Default: the platform's, a day. */
  ttlSeconds?: number;
  /** How much one request carries, and so what may have to be sent again. Twice as much is in memory. Default 1,048,576. */
  partBytes?: number;
  /** Called with how many bytes are stored, after each part. */
  onProgress?: (bytes: number) => void;
  /** Gives the upload up: what is stored of it is removed. */
  signal?: AbortSignal;
}

const DEFAULT_PART_BYTES = 1_048_576;

export async function upload(
  transport: Transport,
  content: BlobContent,
  options: UploadOptions,
): Promise<UploadedBlob> {
  const { partBytes = DEFAULT_PART_BYTES, onProgress, signal } = options;
  if (!(partBytes >= 1))
    throw transport.error("invalid_request", `partBytes must be from 1, got ${partBytes}.`);
  const type = options.type ?? (("type" in content && content.type) || "application/octet-stream");
  const create = { method: "POST", path: `/v1/blobs${toQuery(options)}` } as const;
  let address: string | undefined;
  try {
    for await (const part of partsOf(content, Math.floor(partBytes))) {
      if (part.isLast && part.offset === 0) {
        const headers = { "content-type": type };
        return await transport.call<UploadedBlob>({ ...create, headers, body: part.bytes }, signal);
      }
      const length = lengthOf(content);
      const headers = {
        "content-type": type,
        "upload-complete": "?0",
        ...(length !== undefined && { "upload-length": `${length}` }),
      };
      address ??= await transport.retry((running) => {
        const request = { ...create, headers, body: new ArrayBuffer(0) };
        return withExchange(transport, request, running, (exchange) => addressIn(transport, exchange));
      }, signal);
      const blob = await sendPart(transport, address, part, signal);
      onProgress?.(part.offset + part.bytes.byteLength);
      if (blob) return blob;
    }
    throw transport.error("protocol_violation", "The upload has no end.");
  } catch (error) {
    // Until then it counts against the tenant's bytes. A sweep takes what this does not.
    if (address !== undefined) void giveUp(transport, address);
    throw error;
  }
}

async function addressIn(transport: Transport, exchange: Exchange): Promise<string> {
  if (exchange.status !== 201) throw await exchange.error();
  const address = exchange.header("location");
  if (address?.startsWith("/v1/uploads/")) return address;
  throw transport.error("protocol_violation", "The answer to an upload has no address to go on at.");
}

/** @returns the blob, behind the last part */
function sendPart(
  transport: Transport,
  address: string,
  part: Part,
  signal: AbortSignal | undefined,
): Promise<UploadedBlob | undefined> {
  const end = part.offset + part.bytes.byteLength;
  let isKnown = true;
  return transport.retry(async (running) => {
    const at = isKnown ? { offset: part.offset } : await placeOf(transport, address, running);
    isKnown = false;
    if ("blob" in at) return describe(transport, at.blob, running);
    const { offset } = at;
    if (offset === end && !part.isLast) return undefined;
    if (!(offset >= part.offset && offset <= end))
      throw transport.error(
        "protocol_violation",
        `The upload is at ${offset}, outside of the part that is sent.`,
      );
    const request = {
      method: "PATCH",
      path: address,
      headers: {
        accept: "application/json",
        "content-type": "application/partial-upload",
        "upload-offset": `${offset}`,
        "upload-complete": part.isLast ? "?1" : "?0",
      },
      body: part.bytes.slice(offset - part.offset),
    } as const;
    return withExchange(transport, request, running, async (exchange) => {
      // A request that broke off is still being stored: where it has come to is known in a moment.
      if (exchange.status === 409) throw transport.error("connection_lost", "The upload moved on meanwhile.");
      if (exchange.status > 299) throw await exchange.error();
      if (!part.isLast) return undefined;
      const { id, type, bytes, expires_at } = JSON.parse(await exchange.text()) as UploadedBlob;
      return { id, type, bytes, expires_at };
    });
  }, signal);
}

/** How far an upload has come, or what it has become. */
function placeOf(
  transport: Transport,
  address: string,
  signal: AbortSignal,
): Promise<{ readonly offset: number } | { readonly blob: string }> {
  return withExchange(transport, { method: "HEAD", path: address }, signal, async (exchange) => {
    if (exchange.status !== 204) throw await exchange.error();
    const blob = exchange.header("content-location");
    return blob === null
      ? { offset: Number(exchange.header("upload-offset") ?? Number.NaN) }
      : { blob: blob.slice(blob.lastIndexOf("/") + 1) };
  });
}

/** What an answer that was lost has said. */
function describe(transport: Transport, id: string, signal: AbortSignal): Promise<UploadedBlob> {
  return withExchange(transport, { method: "HEAD", path: pathOf(id) }, signal, async (exchange) => {
    if (exchange.status !== 200) throw await exchange.error();
    return {
      id,
      type: exchange.header("content-type") ?? "",
      bytes: Number(exchange.header("content-length")),
      expires_at: exchange.header("reprise-expires-at") ?? "",
    };
  });
}

async function giveUp(transport: Transport, address: string): Promise<void> {
  try {
    (await transport.exchange({ method: "DELETE", path: address }, new AbortController().signal)).close();
  } catch {
    // Told by nothing: what has failed is thrown already.
  }
}

function toQuery({ subject, endUser, ttlSeconds }: UploadOptions): string {
  const fields = { subject, end_user: endUser, ttl_seconds: ttlSeconds };
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}
