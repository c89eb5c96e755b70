import { blobs } from "@reprise/log";
import {
  type GenerationRequest,
  isBlobId,
  isMediaPart,
  LIMITS,
  type MediaMap,
  type MediaPart,
  partsOf,
  referenceOf,
  RepriseError,
  type RequestMedia,
  type TenantId,
} from "@reprise/protocol";

export interface ResolveMedia {
  readonly storage: Pick<blobs.BlobStorage, "rows">;
  readonly tenant: TenantId;
  /** How long the generation may run: its blobs are kept for as long at least. */
  readonly forMs: number;
}

/** What one or more parts name. */
interface Named {
  readonly reference: string;
  /** Of the first of them. */
  readonly part: MediaPart;
  readonly path: string;
}

/**
 * Finds the blobs that a request names, and renews their time. What is stored of each is its hash, so that auditors know what the model was given.
 * @returns undefined where the request names nothing
 * @throws RepriseError `capability_unsupported` for an https URL; `blob_not_found`, whose `param` is the part's, for another tenant's and another end
 *   user's blob too; `invalid_request` where a blob is not of its part's kind, or all of them are too many or too large
 */
export async function resolveMedia(
  request: Pick<GenerationRequest, "input" | "end_user">,
  { storage, tenant, forMs }: ResolveMedia,
): Promise<MediaMap | undefined> {
  const named = [...namedIn(request)];
  if (named.length === 0) return undefined;
  const resolved = await Promise.all(
    named.map(async ({ reference, path }) => {
      const { row } = await blobs
        .useBlob(storage, tenant, blobIdOf(reference, path), { forMs, endUser: request.end_user })
        .catch((error: unknown) => {
          throw error instanceof RepriseError && error.code === "blob_not_found" ? notFoundAt(path) : error;
        });
      const { id: blob, type, bytes, sha256 } = row;
      return [reference, { blob, type, bytes, sha256 }] as const;
    }),
  );
  const media: Record<string, RequestMedia> = Object.fromEntries(resolved);
  assertKinds(request, media);
  assertSize(resolved.map(([, { bytes }]) => bytes));
  return media;
}

/** Each reference once. @throws RepriseError `invalid_request` */
function namedIn({ input }: Pick<GenerationRequest, "input">): Iterable<Named> {
  const named = new Map<string, Named>();
  for (const { part, path } of partsOf(input)) {
    const reference = isMediaPart(part) ? referenceOf(part) : undefined;
    if (reference === undefined || named.has(reference) || !isMediaPart(part)) continue;
    named.set(reference, { reference, part, path: `${path}.${part.blob === undefined ? "url" : "blob"}` });
    if (named.size > LIMITS.mediaReferences)
      throw wrong("input", `names more than ${LIMITS.mediaReferences} blobs and URLs`);
  }
  return named.values();
}

function blobIdOf(reference: string, param: string) {
  if (isBlobId(reference)) return reference;
  const message = `${param}: https URLs are not fetched by this server; upload the content, or send a data URL.`;
  throw new RepriseError("capability_unsupported", message, { param });
}

/** A part that says its kind is given nothing else, as its data URL would be. */
function assertKinds({ input }: Pick<GenerationRequest, "input">, media: MediaMap): void {
  for (const { part, path } of partsOf(input)) {
    if (!isMediaPart(part) || part.type === "file") continue;
    const type = media[referenceOf(part) ?? ""]?.type;
    if (type !== undefined && !type.startsWith(`${part.type}/`))
      throw wrong(
        `${path}.${part.blob === undefined ? "url" : "blob"}`,
        `is ${type}, and not ${part.type}/…`,
      );
  }
}

function assertSize(sizes: readonly number[]): void {
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > LIMITS.mediaBytes)
    throw wrong("input", `names ${bytes} bytes of blobs; the limit is ${LIMITS.mediaBytes}`);
}

function wrong(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}.`, { param });
}

/** The same for one that is gone, another tenant's and another end user's. */
function notFoundAt(param: string): RepriseError {
  return new RepriseError("blob_not_found", `${param}: there is no blob with this id.`, { param });
}
