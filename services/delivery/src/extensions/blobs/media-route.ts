import type { NodeBlobs } from "./open-blobs.ts";
import * as blobs from "@reprise/blobs";
import { blobNotFound, isTenantId, parseBlobId, parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { sendContent } from "./send-content.ts";

export interface MediaPorts {
  readonly blobs: NodeBlobs;
}

export const MEDIA_PATH = "/v1/media/:tenant/:id";

const linkQuery = z.strictObject({
  expires: z.string().regex(/^\d{10}$/, { error: "must be Unix seconds" }),
  signature: z.string().regex(/^[A-Za-z0-9_-]{43}$/, { error: "must be a signature" }),
});

/**
 * Serves the blobs of requests to model servers, at addresses that workers have signed for some minutes. There is no key: an invalid address is answered like
 * a blob that does not exist.
 */
export function addMediaRoute(app: FastifyInstance, { blobs: node }: MediaPorts): void {
  app.get<{ Params: { tenant: string; id: string } }>(
    MEDIA_PATH,
    { config: { authenticatesItself: true } },
    async (request, reply) => {
      const { tenant, id } = request.params;
      const { expires, signature } = parseWith(linkQuery, request.query, "query");
      const blob = parseBlobId(id);
      // A tenant that is unknown costs nothing.
      if (!isTenantId(tenant) || !node.isTenant(tenant)) throw blobNotFound();
      if (!(await blobs.isLinkGood(node.storage, { tenant, blob, expires, signature }))) throw blobNotFound();
      return sendContent(reply, node, await blobs.findBlob(node.storage, tenant, blob));
    },
  );
}
