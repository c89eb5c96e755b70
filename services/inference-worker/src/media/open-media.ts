import * as blobs from "@reprise/blobs";
import {
  blobNotFound,
  isBlobId,
  type MediaMap,
  type RequestMedia,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import type { MediaSource } from "../engines/engine.ts";

export interface MediaStore {
  readonly storage: blobs.BlobStorage;
  /** Where model servers reach delivery; undefined where they don't. */
  readonly url: string | undefined;
}

/**
 * Opens the media that a tenant's request and its tools' answers name, as described by seq 0. A blob is looked up at every read: one that was deleted meanwhile
 * is
 * missing.
 */
export function openMedia({ storage, url }: MediaStore, tenant: TenantId, media: MediaMap): MediaSource {
  /** The log has only the id of media in a tool's answer: delivery has checked it when it took the answer. */
  const lookUp = async (reference: string): Promise<RequestMedia> => {
    const known = media[reference];
    const blob = known?.blob ?? reference;
    if (!isBlobId(blob)) throw blobNotFound();
    const { row } = await blobs.findBlob(storage, tenant, blob);
    return known ?? { blob, type: row.type, bytes: row.bytes, sha256: row.sha256 };
  };
  return {
    async find(reference) {
      const named = await lookUp(reference);
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
