import { Semaphore } from "@reprise/async";
import * as blobs from "@reprise/blobs";
import {
  BLOB_LIMITS,
  type BlobRecord,
  type GenerationRequest,
  isBlobId,
  LIMITS,
  mediaTypeOf,
  parseMediaType,
  RepriseError,
  SNIFFED_BYTES,
  type StreamSeq,
  unixNow,
} from "@reprise/protocol";
import type { FetchedMedia, FetchMedia } from "../../models/request-blobs.ts";
import { refused } from "../../egress/allowed-hosts.ts";
import { type Egress, type OpenUrl, openUrl } from "../../egress/open-url.ts";
import type { NodeBlobs } from "./open-blobs.ts";
import { type Named, namedIn, toMediaMap } from "../../models/resolve-media.ts";

interface ToFetch extends FetchMedia {
  readonly blobs: Pick<NodeBlobs, "storage" | "transfers" | "ttlSeconds" | "record" | "egress" | "onError">;
}

/** Concurrent fetches of one request. */
const FETCHES = 4;
/** Milliseconds for all fetches of one request together. */
const TOTAL_MS = 30_000;

interface Fetched {
  readonly row: BlobRecord;
  /** Sequence of the row, if this request stored the content first: a request that finds it later stores another row. */
  readonly newAt: StreamSeq | undefined;
}

/**
 * Fetches the https URLs of a request into blobs, which are of its subject and end user as uploads are. Each is read no faster than it is stored. All
 * share what `mediaBytes` leaves, and 30 s. Where one fails the others are given up, and what this request has stored is removed, unless it was found by
 * another since.
 * @returns undefined where the request has no URL
 * @throws RepriseError what `openUrl` throws; `invalid_request` where the content is not of its part's kind; `limit_exceeded`, `overloaded`,
 *   `broker_unavailable`
 */
export async function fetchMedia(
  request: GenerationRequest,
  options: ToFetch,
): Promise<FetchedMedia | undefined> {
  const { egress } = options.blobs;
  const named = namedIn(request).filter(({ reference }) => !isBlobId(reference));
  if (!egress || named.length === 0) return undefined;
  const known = Object.entries(options.media ?? {});
  const allowance = { left: LIMITS.mediaBytes - known.reduce((sum, [, { bytes }]) => sum + bytes, 0) };
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, AbortSignal.timeout(egress.times.requestMs ?? TOTAL_MS)]);
  const turns = new Semaphore(FETCHES);
  const stored: Fetched[] = [];
  const fetches = named.map((one) =>
    turns.run(async () => {
      try {
        const fetched = await fetchOne(request, one, { ...options, egress, allowance, signal });
        stored.push(fetched);
        const { id: blob, type, bytes, sha256 } = fetched.row;
        return [one.reference, { blob, type, bytes, sha256 }] as const;
      } catch (error) {
        // Running fetches are aborted, and waiting ones are not begun.
        failed.abort(error);
        throw error;
      }
    }, failed.signal),
  );
  await Promise.allSettled(fetches);
  const remove = () => removeStored(stored, options);
  try {
    // The first failure, and not what others met with because of it.
    if (failed.signal.aborted) throw failed.signal.reason;
    return { media: { ...options.media, ...toMediaMap(request, await Promise.all(fetches)) }, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

interface FetchOne extends ToFetch {
  readonly egress: Egress;
  /** Bytes that the request's remaining fetches may take in total. */
  readonly allowance: { left: number };
  readonly signal: AbortSignal;
}

/** Removes only the rows that this request stored. A row that another request has stored since has another sequence, and stays. */
async function removeStored(
  stored: readonly Fetched[],
  { blobs: { storage, record, onError }, principal }: ToFetch,
): Promise<void> {
  const { tenant } = principal;
  for (const { row, newAt: at } of stored) {
    if (at === undefined) continue;
    try {
      if (await blobs.removeBlobRow(storage, { tenant, row, at })) await record(principal, row, "deleted");
    } catch (error) {
      // Its time to live is left.
      onError(error);
    }
  }
}

async function* within(
  content: AsyncIterable<Uint8Array>,
  allowance: { left: number },
  param: string,
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    allowance.left -= piece.length;
    if (allowance.left < 0) throw beyondAllowance(param);
    yield piece;
  }
}

function beyondAllowance(param: string): RepriseError {
  const problem = `is more than what is left of ${LIMITS.mediaBytes} bytes, which all that a request names may have together`;
  return refused(param, problem);
}

async function fetchOne(
  request: GenerationRequest,
  { reference, part, path }: Named,
  { blobs: node, principal, forMs, egress, allowance, signal }: FetchOne,
): Promise<Fetched> {
  const { storage, transfers, ttlSeconds, record, onError } = node;
  const { tenant, holder: by, limits } = principal;
  const maxBytes = limits?.blobs?.blob_bytes ?? BLOB_LIMITS.blobBytes;
  using _ = transfers.take(tenant);
  const opened = await openUrl(reference, egress, { param: path, maxBytes, signal });
  try {
    if ((opened.length ?? 0) > allowance.left) throw beyondAllowance(path);
    const { type, content } = await sniff(opened, path);
    if (part.type !== "file" && !type.startsWith(`${part.type}/`))
      throw refused(path, `is ${type}, and not ${part.type}/…`);
    const upload = await blobs.beginUpload(storage, tenant, {
      type,
      length: opened.length,
      maxBytes,
      quotaBytes: limits?.blobs?.bytes ?? BLOB_LIMITS.tenantBytes,
      by,
      subject: request.subject,
      endUser: request.end_user,
      ttlSeconds,
    });
    try {
      const sum = await blobs.receiveContent(storage, upload, within(content, allowance, path));
      const { blob, at, isNew } = await blobs.finishUpload(storage, upload, sum);
      await record(principal, blob, isNew ? "stored" : "joined");
      const isEnough = Date.parse(blob.expires_at) - unixNow() >= forMs;
      if (isNew && isEnough) return { row: blob, newAt: at };
      const { row } = await blobs.useBlob(storage, tenant, blob.id, { forMs, endUser: request.end_user });
      return { row, newAt: undefined };
    } catch (error) {
      // A sweep takes what this does not.
      await blobs.abandonUpload(storage, tenant, upload.row.id).catch(onError);
      throw error;
    }
  } finally {
    opened.close();
  }
}

/** Detects the content's type, from its first bytes and the type that the server declares. */
async function sniff(
  { type: declared, content }: OpenUrl,
  param: string,
): Promise<{ type: string; content: AsyncIterable<Uint8Array> }> {
  const pieces = content[Symbol.asyncIterator]();
  const begin: Uint8Array[] = [];
  for (let bytes = 0; bytes < SNIFFED_BYTES;) {
    const next = await pieces.next();
    if (next.done) break;
    begin.push(next.value);
    bytes += next.value.length;
  }
  const rest = async function* () {
    yield* begin;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  return { type: typeOf(declared, Buffer.concat(begin).subarray(0, SNIFFED_BYTES), param), content: rest() };
}

function typeOf(declared: string | undefined, head: Uint8Array, param: string): string {
  if (head.length === 0) throw refused(param, "has no content");
  try {
    return mediaTypeOf(declared === undefined ? "application/octet-stream" : parseMediaType(declared), head);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "invalid_request")
      throw refused(param, "is not of the type that its server declares");
    throw error;
  }
}
