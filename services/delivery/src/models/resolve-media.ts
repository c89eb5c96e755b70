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
import { toTarget } from "../egress/allowed-hosts.ts";
import { type RequestBlobs, withoutBlobs } from "./request-blobs.ts";

export interface ResolveMedia {
  /** Undefined: this node has no blobs. */
  readonly blobs: Pick<RequestBlobs, "allowed" | "use"> | undefined;
  readonly tenant: TenantId;
  /** Milliseconds that the generation may run: its blobs are kept for at least as long. */
  readonly forMs: number;
}

/** A reference that one or more parts name. */
export interface Named {
  readonly reference: string;
  /** The first of these parts. */
  readonly part: MediaPart;
  readonly path: string;
}

/**
 * Finds the blobs that a request names, and renews their time. What is stored of each is its hash, so that auditors know what the model was given.
 * @returns undefined where the request names nothing
 * @throws RepriseError `capability_unsupported` for an https URL if none is fetched, and for a blob if this node has no blobs; `invalid_request` for a URL that leads
 *   elsewhere than is allowed; `blob_not_found`, whose `param` is the part's, for another tenant's and another end user's blob too; `invalid_request` where a blob is not of its part's kind, or all of them are too many or too large
 */
export async function resolveMedia(
  request: Pick<GenerationRequest, "input" | "end_user">,
  { blobs, tenant, forMs }: ResolveMedia,
): Promise<MediaMap | undefined> {
  const named = namedIn(request);
  for (const { reference, path } of named) if (!isBlobId(reference)) assertFetched(reference, blobs, path);
  const resolved = await Promise.all(
    named.map(async ({ reference, path }) => {
      if (!isBlobId(reference)) return [];
      if (!blobs) throw withoutBlobs(path);
      const row = await blobs.use(tenant, reference, { forMs, endUser: request.end_user });
      if (!row) throw notFoundAt(path);
      const { id: blob, type, bytes, sha256 } = row;
      return [[reference, { blob, type, bytes, sha256 }] as const];
    }),
  );
  return toMediaMap(request, resolved.flat());
}

/** @throws RepriseError `invalid_request` where one is not of its parts' kind, or all of them are too large; undefined for none */
export function toMediaMap(
  request: Pick<GenerationRequest, "input">,
  resolved: readonly (readonly [reference: string, media: RequestMedia])[],
): MediaMap | undefined {
  if (resolved.length === 0) return undefined;
  const media = Object.fromEntries(resolved);
  assertKinds(request, media);
  assertSize(request, media);
  return media;
}

/** Each reference once. @throws RepriseError `invalid_request` */
export function namedIn({ input }: Pick<GenerationRequest, "input">): readonly Named[] {
  const named = new Map<string, Named>();
  for (const { part, path } of partsOf(input)) {
    const reference = isMediaPart(part) ? referenceOf(part) : undefined;
    if (reference === undefined || named.has(reference) || !isMediaPart(part)) continue;
    named.set(reference, { reference, part, path: `${path}.${part.blob === undefined ? "url" : "blob"}` });
    if (named.size > LIMITS.mediaReferences)
      throw wrong("input", `names more than ${LIMITS.mediaReferences} blobs and URLs`);
  }
  return [...named.values()];
}

function assertFetched(url: string, blobs: ResolveMedia["blobs"], param: string): void {
  if (blobs?.allowed) return void toTarget(url, blobs.allowed, param);
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

/** An engine is sent a blob by each part that names it. */
function assertSize({ input }: Pick<GenerationRequest, "input">, media: MediaMap): void {
  let bytes = 0;
  for (const { part } of partsOf(input))
    if (isMediaPart(part)) bytes += media[referenceOf(part) ?? ""]?.bytes ?? 0;
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
