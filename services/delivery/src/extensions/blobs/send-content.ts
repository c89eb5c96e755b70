import { Readable } from "node:stream";
import * as blobs from "@reprise/blobs";
import { RepriseError } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { hasLeft } from "../../connections/http2.ts";
import { contentHeaders } from "./blob-answers.ts";
import type { NodeBlobs } from "./open-blobs.ts";

/**
 * Answers with a blob's content, read from its store as the client takes it. What breaks half-way breaks the answer off: with its length told, no
 * client takes a part for the whole. Nothing of the answer is said before the first bytes are there.
 * @throws RepriseError `overloaded`, `connection_lost` where the client has left before its answer, `blob_not_found`, `broker_unavailable`,
 *   `archive_unavailable`; `internal` where the store has lost the content
 */
export async function sendContent(
  reply: FastifyReply,
  { storage, transfers, metrics, stallMs }: Pick<NodeBlobs, "storage" | "transfers" | "metrics" | "stallMs">,
  found: blobs.FoundBlob,
): Promise<FastifyReply> {
  const { tenant, row } = found;
  const slot = transfers.take(tenant);
  const content = blobs.readBlob(storage, found);
  let first: Uint8Array;
  try {
    first = await firstOf(content, storage, found);
    // No `close` comes any more.
    if (hasLeft(reply.raw))
      throw new RepriseError("connection_lost", "The client left before it was given the content.");
  } catch (error) {
    slot[Symbol.dispose]();
    await content.return(undefined);
    throw error;
  }
  const stall = setTimeout(() => reply.raw.destroy(), stallMs);
  reply.raw.once("close", () => {
    clearTimeout(stall);
    slot[Symbol.dispose]();
  });
  const pieces = async function* () {
    for await (const piece of startingWith(first, content)) {
      stall.refresh();
      metrics.sent(piece.length);
      yield piece;
    }
  };
  // One piece at a time: the store's chunks are large.
  const body = Readable.from(pieces(), { objectMode: true, highWaterMark: 1 });
  return reply.headers(contentHeaders(row)).send(body);
}

async function firstOf(
  content: AsyncGenerator<Uint8Array>,
  storage: blobs.BlobStorage,
  { tenant, row }: blobs.FoundBlob,
): Promise<Uint8Array> {
  try {
    // A blob has at least one byte.
    return (await content.next()).value as Uint8Array;
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "blob_not_found") throw error;
    // Else it was removed meanwhile.
    await blobs.findBlob(storage, tenant, row.id);
    const cause = new Error(`blob ${row.id}: its store has none of its bytes`, { cause: error });
    throw new RepriseError("internal", "The content of the blob can't be read.", { cause });
  }
}

async function* startingWith(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}
