import * as blobs from "@reprise/blobs";
import {
  type BlobId,
  blobsIn,
  type MediaMap,
  type Prompt,
  RepriseError,
  type RequestMedia,
  type TenantId,
  withoutMedia,
} from "@reprise/protocol";

export interface PromptMedia {
  /** With a note in the place of each part whose blob is gone. */
  readonly prompt: Prompt;
  /** Media that the other segments name. */
  readonly media: MediaMap;
}

interface FindMedia {
  readonly storage: Pick<blobs.BlobStorage, "rows">;
  readonly tenant: TenantId;
  readonly endUser: string | undefined;
  /** Milliseconds that the generation may run: its blobs are kept for at least as long. */
  readonly forMs: number;
}

/**
 * Finds the blobs that earlier turns name, and renews their expiry. A conversation outlives its blobs: blobs that are deleted, erased or expired are left out
 * from now on, and the model is told so.
 * @throws RepriseError `broker_unavailable`
 */
export async function findPromptMedia(
  prompt: Prompt,
  { storage, tenant, endUser, forMs }: FindMedia,
): Promise<PromptMedia> {
  const named = new Set(prompt.flatMap((segment) => [...blobsIn(segment)]));
  const found = await Promise.all(
    Array.from(named, async (id): Promise<RequestMedia | undefined> => {
      try {
        const { row } = await blobs.useBlob(storage, tenant, id as BlobId, { forMs, endUser });
        return { blob: row.id, type: row.type, bytes: row.bytes, sha256: row.sha256 };
      } catch (error) {
        if (error instanceof RepriseError && error.code === "blob_not_found") return undefined;
        throw error;
      }
    }),
  );
  const media = Object.fromEntries(
    found.filter((one) => one !== undefined).map((one) => [one.blob, one] as const),
  );
  const isGone = (blob: string) => !Object.hasOwn(media, blob);
  return { prompt: prompt.map((segment) => withoutMedia(segment, isGone)), media };
}
