import { blobAccountSubject, RepriseError, type TenantId } from "@reprise/protocol";
import type { BlobRows } from "./blob-rows.ts";

const TRIES = 100;

/**
 * How many bytes each tenant has stored or has room kept for: one row per tenant, changed by compare-and-set, so that all nodes together keep to
 * a quota. A process that dies between a blob and its account leaves the two apart; a sweep brings them together.
 */
export class BlobAccounts {
  readonly #rows: BlobRows;

  constructor(rows: BlobRows) {
    this.#rows = rows;
  }

  /** @throws RepriseError `broker_unavailable` */
  async bytesOf(tenant: TenantId): Promise<number> {
    const { row } = await this.#rows.read(blobAccountSubject(tenant));
    return row?.kind === "account" ? row.bytes : 0;
  }

  /**
   * @param quota the most that the tenant may have; undefined for what only gives back
   * @throws RepriseError `limit_exceeded`, `broker_unavailable`
   */
  async add(tenant: TenantId, bytes: number, quota?: number): Promise<void> {
    if (bytes === 0) return;
    const subject = blobAccountSubject(tenant);
    for (let tries = 0; tries < TRIES; tries++) {
      const { row, at } = await this.#rows.read(subject);
      const before = row?.kind === "account" ? row.bytes : 0;
      if (quota !== undefined && before + bytes > quota) throw quotaReached(quota, quota - before);
      const next = { version: 1, kind: "account", bytes: Math.max(0, before + bytes) } as const;
      if ((await this.#rows.write(subject, next, at)) !== undefined) return;
    }
    throw new RepriseError("broker_unavailable", "Too many uploads of this tenant begin or end at once.", {
      retryAfterMs: 1_000,
    });
  }
}

function quotaReached(quota: number, left: number): RepriseError {
  const message = `The tenant's blobs may have ${quota} bytes together, of which ${Math.max(0, left)} are left.`;
  return new RepriseError("limit_exceeded", message, { param: "blobs.bytes", retryAfterMs: 60_000 });
}
