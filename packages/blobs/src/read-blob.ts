import { createHash } from "node:crypto";
import {
  type BlobId,
  blobNotFound,
  type BlobRecord,
  blobSubject,
  RepriseError,
  type StreamSeq,
  type TenantId,
  unixNow,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";

/** A blob that is there, and where its row lies. */
export interface FoundBlob {
  readonly tenant: TenantId;
  readonly row: BlobRecord;
  readonly at: StreamSeq;
}

/**
 * A blob of this tenant.
 * @param nowMs by the clock of this process
 * @throws RepriseError `blob_not_found`, `broker_unavailable`
 */
export async function findBlob(
  { rows }: Pick<BlobStorage, "rows">,
  tenant: TenantId,
  id: BlobId,
  nowMs: number = unixNow(),
): Promise<FoundBlob> {
  const { row, at } = await rows.read(blobSubject(tenant, id));
  if (row?.kind !== "blob" || row.id !== id || isOver(row, nowMs)) throw blobNotFound();
  return { tenant, row, at };
}

/**
 * Reads the bytes of a blob as its reader takes them. Compares their hash before the last of them are given: a reader has exactly what was stored,
 * or an error.
 * @throws RepriseError `blob_not_found` if it is removed meanwhile, `broker_unavailable`; `internal` if the content is not what was stored
 */
export async function* readBlob(
  { chunks }: Pick<BlobStorage, "chunks">,
  { tenant, row }: Pick<FoundBlob, "tenant" | "row">,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks.read({ tenant, upload: row.chunks })) {
    bytes += chunk.length;
    if (bytes > row.bytes)
      throw new RepriseError("internal", `A blob has more than the ${row.bytes} bytes of its record.`);
    hash.update(chunk);
    if (bytes === row.bytes && hash.digest("hex") !== row.sha256)
      throw new RepriseError("internal", "The content of a blob does not have the hash of its record.");
    yield chunk;
  }
  if (bytes < row.bytes) throw blobNotFound();
}

export function isOver({ expires_at }: { readonly expires_at: string }, nowMs: number): boolean {
  return Date.parse(expires_at) <= nowMs;
}
