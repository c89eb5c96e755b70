import { blobAccountSubject, RepriseError, type StreamSeq, type TenantId } from "@reprise/protocol";
import { changeAccount } from "@reprise/stream";
import type { BlobRows } from "./blob-rows.ts";

/**
 * Number of bytes that each tenant has stored or reserved: one row per tenant, changed by compare-and-set, so that all nodes together keep to a
 * quota. If bytes are released before they were charged, the count is negative meanwhile. A process that dies between the blob and the account
 * leaves the two inconsistent; a sweep corrects the account.
 */
export class BlobAccounts {
  readonly #rows: BlobRows;

  constructor(rows: BlobRows) {
    this.#rows = rows;
  }

  /** @throws RepriseError `broker_unavailable` */
  async bytesOf(tenant: TenantId): Promise<number> {
    return (await this.#read(tenant)).count;
  }

  /**
   * @param quota the most that the tenant may have; undefined for what only gives back
   * @throws RepriseError `limit_exceeded`, `broker_unavailable`
   */
  async add(tenant: TenantId, bytes: number, quota?: number): Promise<void> {
    const account = {
      read: () => this.#read(tenant),
      write: (count: number, at: StreamSeq) =>
        this.#rows.write(blobAccountSubject(tenant), { version: 1, kind: "account", bytes: count }, at),
    };
    await changeAccount(account, bytes, (next) => {
      if (quota !== undefined && next > quota) throw quotaReached(quota, quota - (next - bytes));
    });
  }

  async #read(tenant: TenantId) {
    const { row, at } = await this.#rows.read(blobAccountSubject(tenant));
    return { count: row?.kind === "account" ? row.bytes : 0, at };
  }
}

function quotaReached(quota: number, left: number): RepriseError {
  const message = `The tenant's blobs and open uploads may have ${quota} bytes together, of which ${Math.max(0, left)} are left: delete blobs, give uploads up, or wait until their time is over.`;
  return new RepriseError("limit_exceeded", message, { param: "blobs.bytes", retryAfterMs: 60_000 });
}
