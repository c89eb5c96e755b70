import {
  type BlobId,
  blobsIn,
  type MediaMap,
  type Prompt,
  type RequestMedia,
  type TenantId,
  withoutMedia,
} from "@reprise/protocol";
import { type RequestBlobs, type UseBlob, withoutBlobs } from "../../models/request-blobs.ts";

export interface PromptMedia {
  /** With a note in the place of each part whose blob is gone. */
  readonly prompt: Prompt;
  /** Media that the other segments name. */
  readonly media: MediaMap;
}

interface FindMedia extends UseBlob {
  /** Undefined: this node has no blobs. */
  readonly blobs: Pick<RequestBlobs, "use"> | undefined;
  readonly tenant: TenantId;
}

/**
 * Finds the blobs that earlier turns name, and renews their expiry. A conversation outlives its blobs: blobs that are deleted, erased or expired are left out
 * from now on, and the model is told so.
 * @throws RepriseError `capability_unsupported` on a node without blobs, `broker_unavailable`
 */
export async function findPromptMedia(
  prompt: Prompt,
  { blobs, tenant, ...use }: FindMedia,
): Promise<PromptMedia> {
  const named = new Set(prompt.flatMap((segment) => [...blobsIn(segment)]));
  if (named.size > 0 && !blobs) throw withoutBlobs("conversation");
  const found = await Promise.all(
    Array.from(named, async (id): Promise<RequestMedia | undefined> => {
      const row = await blobs?.use(tenant, id as BlobId, use);
      return row && { blob: row.id, type: row.type, bytes: row.bytes, sha256: row.sha256 };
    }),
  );
  const media = Object.fromEntries(
    found.filter((one) => one !== undefined).map((one) => [one.blob, one] as const),
  );
  const isGone = (blob: string) => !Object.hasOwn(media, blob);
  return { prompt: prompt.map((segment) => withoutMedia(segment, isGone)), media };
}
