import { blobs } from "@reprise/log";
import { blobNotFound, type MediaMap, type TenantId } from "@reprise/protocol";
import type { MediaSource } from "../engines/engine.ts";

/**
 * What a tenant's request names, by what its seq 0 says of it. A blob is looked up whenever it is read: one that was deleted meanwhile is
 * not there any more.
 */
export function openMedia(storage: blobs.BlobStorage, tenant: TenantId, media: MediaMap): MediaSource {
  return {
    async find(reference) {
      const named = media[reference];
      if (!named) throw blobNotFound();
      await blobs.findBlob(storage, tenant, named.blob);
      return {
        ...named,
        async *read() {
          yield* blobs.readBlob(storage, await blobs.findBlob(storage, tenant, named.blob));
        },
      };
    },
  };
}
