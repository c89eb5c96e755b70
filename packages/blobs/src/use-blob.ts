import { type BlobId, blobNotFound, blobSubject, type TenantId, unixNow } from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";
import { findBlob, type FoundBlob } from "./read-blob.ts";

/** A row is written again when so much of its time is over: a blob that is in every request costs a write now and then. */
const RENEWED_AFTER = 1 / 4;
const TRIES = 5;

export interface UseOptions {
  /** Milliseconds for which the use may last: the blob is kept at least that long. Default 0. */
  readonly forMs?: number;
  /** The end user of the request: another end user's blob counts as missing. Absent: the request has no end user. */
  readonly endUser?: string | undefined;
  /** Default: now. */
  readonly nowMs?: number;
}

/**
 * A blob for a request that names it, which renews its time to live.
 * @throws RepriseError `blob_not_found`, `broker_unavailable`
 */
export async function useBlob(
  storage: Pick<BlobStorage, "rows">,
  tenant: TenantId,
  id: BlobId,
  { forMs = 0, endUser, nowMs = unixNow() }: UseOptions = {},
): Promise<FoundBlob> {
  for (let tries = 0; ; tries++) {
    const found = await findBlob(storage, tenant, id, nowMs);
    const { row, at } = found;
    if (row.end_user !== undefined && row.end_user !== endUser) throw blobNotFound();
    const ttlMs = row.ttl_seconds * 1_000;
    const leftMs = Date.parse(row.expires_at) - nowMs;
    const isEnough = leftMs >= forMs && leftMs > ttlMs * (1 - RENEWED_AFTER);
    if (isEnough || tries === TRIES) return found;
    const next = { ...row, expires_at: new Date(nowMs + Math.max(ttlMs, forMs)).toISOString() };
    const stored = await storage.rows.write(blobSubject(tenant, id), next, at);
    if (stored !== undefined) return { tenant, row: next, at: stored };
  }
}
