import { type BlobStorage, useBlob } from "@reprise/blobs";
import { RepriseError } from "@reprise/protocol";
import type { Extension } from "../../extension.ts";
import type { RequestBlobs } from "../../models/request-blobs.ts";
import { addBlobRoutes, BLOB_PATHS } from "./blob-routes.ts";
import { fetchMedia } from "./fetch-media.ts";
import { addMediaRoute, MEDIA_PATH } from "./media-route.ts";
import { openBlobs } from "./open-blobs.ts";
import { addOutputBlobRoute, OUTPUT_BLOB_PATH } from "./output-blob-route.ts";

export const blobs: Extension = {
  open(options) {
    const node = openBlobs(options);
    return {
      blobs: {
        allowed: node.egress?.allowed,
        use: useIn(node.storage),
        fetch: (request, fetching) => fetchMedia(request, { ...fetching, blobs: node }),
      },
      serve: (ports) => ({
        routes: {
          paths: { ...BLOB_PATHS, [MEDIA_PATH]: ["GET"], [OUTPUT_BLOB_PATH]: ["GET"] },
          add(app) {
            const own = { ...ports, blobs: node };
            addBlobRoutes(app, own);
            addMediaRoute(app, own);
            addOutputBlobRoute(app, own);
          },
        },
      }),
      [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
    };
  },
};

export function useIn(storage: Pick<BlobStorage, "rows">): RequestBlobs["use"] {
  return async (tenant, blob, options) => {
    try {
      return (await useBlob(storage, tenant, blob, options)).row;
    } catch (error) {
      if (error instanceof RepriseError && error.code === "blob_not_found") return undefined;
      throw error;
    }
  };
}
