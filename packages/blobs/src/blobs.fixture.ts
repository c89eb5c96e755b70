import { parseTenantId } from "@reprise/protocol";
import type { World } from "@reprise/stream/testing";
import { type BlobStorage, createBlobStorage } from "./blob-storage.ts";
import { finishUpload } from "./finish-upload.ts";
import { type FoundBlob, readBlob } from "./read-blob.ts";
import { beginUpload, type NewUpload, receiveContent } from "./uploads.ts";

export const TENANT = parseTenantId("acme");

export const NEW: NewUpload = {
  type: "application/octet-stream",
  length: undefined,
  maxBytes: 1_000_000,
  quotaBytes: 100_000_000,
  by: "ann",
  ttlSeconds: 3_600,
};

export function storageOf(
  { broker, log }: Pick<World, "broker" | "log">,
  { budgetMs = 20_000 }: { budgetMs?: number } = {},
): BlobStorage {
  return createBlobStorage({ broker, publish: log.publish, budgetMs: () => budgetMs });
}

export async function* piecesOf(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < content.length; from += size) yield content.subarray(from, from + size);
}

/** An upload in one piece. */
export async function store(storage: BlobStorage, content: Uint8Array, options: Partial<NewUpload> = {}) {
  const upload = await beginUpload(storage, TENANT, { ...NEW, ...options });
  const sum = await receiveContent(storage, upload, piecesOf(content, 50_000));
  return { ...(await finishUpload(storage, upload, sum)), upload };
}

export async function contentOf(storage: BlobStorage, found: Pick<FoundBlob, "tenant" | "row">) {
  return Buffer.concat(await Array.fromAsync(readBlob(storage, found), (piece) => Uint8Array.from(piece)));
}
