import * as blobs from "@reprise/blobs";
import { RepriseError } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

/**
 * Stores a request's body. The client is read no faster than that: what it sends meanwhile waits in its socket.
 * @throws RepriseError `connection_lost` if the client has left; what `receiveContent` throws
 */
export function receiveBody(
  storage: blobs.BlobStorage,
  upload: blobs.OpenUpload,
  { raw }: FastifyRequest,
): ReturnType<typeof blobs.receiveContent> {
  return blobs.receiveContent(storage, upload, piecesOf(raw));
}

async function* piecesOf(raw: FastifyRequest["raw"]): AsyncGenerator<Uint8Array> {
  try {
    // An upload that is refused half-way is answered.
    for await (const piece of raw.iterator({ destroyOnReturn: false })) yield piece as Uint8Array;
  } catch (cause) {
    throw clientHasLeft(cause);
  }
  if (!raw.complete) throw clientHasLeft();
}

function clientHasLeft(cause?: unknown): RepriseError {
  return new RepriseError("connection_lost", "The client left before its upload was whole.", { cause });
}
