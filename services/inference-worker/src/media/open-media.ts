import { blobs } from "@reprise/log";
import { blobNotFound, type MediaMap, RepriseError, type TenantId } from "@reprise/protocol";
import type { MediaSource } from "../engines/engine.ts";

export interface MediaStore {
  readonly storage: blobs.BlobStorage;
  /** Where model servers reach delivery; undefined where they don't. */
  readonly url: string | undefined;
}

/**
 * What a tenant's request names, by what its seq 0 says of it. A blob is looked up whenever it is read: one that was deleted meanwhile is
 * not there any more.
 */
export function openMedia({ storage, url }: MediaStore, tenant: TenantId, media: MediaMap): MediaSource {
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
        async link() {
          if (url === undefined)
            throw new RepriseError("config_invalid", "Links to blobs need REPRISE_MEDIA_URL.");
          return url.replace(/\/+$/, "") + (await blobs.signLink(storage, tenant, named.blob));
        },
      };
    },
  };
}
