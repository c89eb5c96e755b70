import { Semaphore } from "@reprise/async";
import { blobs } from "@reprise/log";
import {
  BLOB_LIMITS,
  type BlobRecord,
  type GenerationRequest,
  isBlobId,
  type MediaMap,
  mediaTypeOf,
  parseMediaType,
  RepriseError,
  SNIFFED_BYTES,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { NodeBlobs } from "../blobs/open-blobs.ts";
import { refused } from "../egress/allowed-hosts.ts";
import { type Egress, type OpenUrl, openUrl } from "../egress/open-url.ts";
import { type Named, namedIn, toMediaMap } from "./resolve-media.ts";

export interface FetchMedia {
  readonly blobs: Pick<NodeBlobs, "storage" | "transfers" | "ttlSeconds" | "record" | "egress" | "onError">;
  readonly principal: Principal;
  /** What the request names by blob. */
  readonly media: MediaMap | undefined;
  /** How long the generation may run. */
  readonly forMs: number;
}

/** Of one request, at a time. */
const FETCHES = 4;

/**
 * Fetches the https URLs of a request into blobs, which are of its subject and end user as uploads are. Each is read no faster than it is stored.
 * @returns all that the request names; undefined where it has no URL
 * @throws RepriseError what `openUrl` throws; `invalid_request` where the content is not of its part's kind; `limit_exceeded`, `overloaded`,
 *   `broker_unavailable`
 */
export async function fetchMedia(
  request: GenerationRequest,
  options: FetchMedia,
): Promise<MediaMap | undefined> {
  const { egress } = options.blobs;
  const named = namedIn(request).filter(({ reference }) => !isBlobId(reference));
  if (!egress || named.length === 0) return undefined;
  const failed = new AbortController();
  const turns = new Semaphore(FETCHES);
  const fetches = named.map((one) =>
    turns.run(async () => {
      try {
        const { id: blob, type, bytes, sha256 } = await fetchOne(request, one, { ...options, egress });
        return [one.reference, { blob, type, bytes, sha256 }] as const;
      } catch (error) {
        // Those that wait are not begun any more.
        failed.abort(error);
        throw error;
      }
    }, failed.signal),
  );
  await Promise.allSettled(fetches);
  return toMediaMap(request, [...Object.entries(options.media ?? {}), ...(await Promise.all(fetches))]);
}

async function fetchOne(
  request: GenerationRequest,
  { reference, part, path }: Named,
  { blobs: node, principal, forMs, egress }: FetchMedia & { egress: Egress },
): Promise<BlobRecord> {
  const { storage, transfers, ttlSeconds, record, onError } = node;
  const { tenant, holder: by, limits } = principal;
  const maxBytes = limits?.blobs?.blob_bytes ?? BLOB_LIMITS.blobBytes;
  using _ = transfers.take(tenant);
  const opened = await openUrl(reference, egress, { param: path, maxBytes });
  try {
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
      const place = await storage.chunks.place(blobs.refOf(upload));
      const { sum } = await blobs.receiveContent(storage, upload, place, content);
      const { blob, isNew } = await blobs.finishUpload(storage, upload, sum);
      await record(principal, blob, isNew ? "stored" : "joined");
      const { row } = await blobs.useBlob(storage, tenant, blob.id, { forMs, endUser: request.end_user });
      return row;
    } catch (error) {
      // A sweep takes what this does not.
      await blobs.abandonUpload(storage, tenant, upload.row.id).catch(onError);
      throw error;
    }
  } finally {
    opened.close();
  }
}

/** What the content is, by its beginning and by what its server says. */
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
