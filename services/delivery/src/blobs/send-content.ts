import { Readable } from "node:stream";
import { blobs } from "@reprise/log";
import type { FastifyReply } from "fastify";
import { contentHeaders } from "./blob-answers.ts";
import type { NodeBlobs } from "./open-blobs.ts";

/**
 * Answers with a blob's content, read from its store as the client takes it. What breaks half-way breaks the answer off: with its length told, no
 * client takes a part for the whole.
 */
export async function sendContent(
  reply: FastifyReply,
  { storage, transfers, metrics, stallMs }: NodeBlobs,
  found: blobs.FoundBlob,
): Promise<FastifyReply> {
  const { tenant, row } = found;
  const slot = transfers.take(tenant);
  const stall = setTimeout(() => reply.raw.destroy(), stallMs);
  const pieces = async function* () {
    for await (const piece of blobs.readBlob(storage, found)) {
      stall.refresh();
      metrics.sent(piece.length);
      yield piece;
    }
  };
  reply.raw.once("close", () => {
    clearTimeout(stall);
    slot[Symbol.dispose]();
  });
  // One piece at a time: the store's chunks are large.
  const body = Readable.from(pieces(), { objectMode: true, highWaterMark: 1 });
  return reply.headers(contentHeaders(row)).send(body);
}
