import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  type BlobId,
  blobKeySubject,
  RepriseError,
  type StreamSeq,
  type TenantId,
  toBlobId,
} from "@reprise/protocol";
import type { BlobRows } from "./blob-rows.ts";
import { PacedReads } from "./paced-reads.ts";

/** The inputs of a blob's id. */
export interface BlobContent {
  readonly sha256: string;
  readonly type: string;
  readonly subject?: string | undefined;
  readonly end_user?: string | undefined;
  readonly generation?: string | undefined;
}

const SECRET_BYTES = 32;
const MAX_KNOWN = 10_000;
const TRIES = 5;
/** Milliseconds between lookups of the key of a tenant that has none, however many signatures arrive. */
const JUDGED_EVERY_MS = 1_000;

/**
 * Ids of blobs: a keyed hash of the content, its type and whom it is of. Each tenant has a random key of its own, which is kept in the broker. So
 * an id says the same thing twice within a tenant, nothing about another tenant's content, and nothing that a client could work out from a file.
 * The subject, the end user and the generation that has made it are part of it: what is erased, or not shown, for one is another blob than that of
 * the next.
 */
export class BlobNames {
  readonly #rows: BlobRows;
  readonly #secrets = new Map<TenantId, Buffer>();
  readonly #judged = new PacedReads((tenant: TenantId) => this.#read(tenant), JUDGED_EVERY_MS);

  constructor(rows: BlobRows) {
    this.#rows = rows;
  }

  /** @throws RepriseError `broker_unavailable` */
  async idOf(tenant: TenantId, content: BlobContent): Promise<BlobId> {
    const { sha256, type, subject, end_user, generation } = content;
    const secret = await this.#secretOf(tenant);
    const owners = [subject ?? null, end_user ?? null, ...(generation === undefined ? [] : [generation])];
    const parts = JSON.stringify(["id", sha256, type, ...owners]);
    return toBlobId(createHmac("sha256", secret).update(parts).digest());
  }

  /** For addresses of blobs that need no key: a signature of the tenant's. @throws RepriseError `broker_unavailable` */
  async signatureOf(tenant: TenantId, text: string): Promise<Buffer> {
    return sign(await this.#secretOf(tenant), text);
  }

  /**
   * True if a signature is the tenant's. A tenant without a key has signed nothing, and this call creates none. Anyone may call this: if a tenant's
   * key is not known here, the broker is asked once a second, and calls meanwhile wait for that read.
   * @throws RepriseError `broker_unavailable`
   */
  async isSigned(tenant: TenantId, text: string, signature: Uint8Array): Promise<boolean> {
    const secret = this.#secrets.get(tenant) ?? (await this.#judged.read(tenant)).secret;
    if (!secret) return false;
    const own = sign(secret, text);
    return own.length === signature.length && timingSafeEqual(own, signature);
  }

  async #secretOf(tenant: TenantId): Promise<Buffer> {
    const known = this.#secrets.get(tenant);
    if (known) return known;
    for (let tries = 0; tries < TRIES; tries++) {
      const { secret: kept, at } = await this.#read(tenant);
      if (kept) return kept;
      const secret = randomBytes(SECRET_BYTES).toString("base64url");
      // Of many that make one the first counts.
      await this.#rows.write(blobKeySubject(tenant), { version: 1, kind: "key", secret }, at);
    }
    throw new RepriseError("broker_unavailable", "The tenant's key for blobs can't be kept.", {
      retryAfterMs: 1_000,
    });
  }

  async #read(tenant: TenantId): Promise<{ secret: Buffer | undefined; at: StreamSeq }> {
    const { row, at } = await this.#rows.read(blobKeySubject(tenant));
    const secret = row?.kind === "key" ? Buffer.from(row.secret, "base64url") : undefined;
    return { secret: secret && this.#remember(tenant, secret), at };
  }

  #remember(tenant: TenantId, secret: Buffer): Buffer {
    this.#secrets.set(tenant, secret);
    const [oldest] = this.#secrets.keys();
    if (oldest !== undefined && this.#secrets.size > MAX_KNOWN) this.#secrets.delete(oldest);
    return secret;
  }
}

function sign(secret: Buffer, text: string): Buffer {
  return createHmac("sha256", secret)
    .update(JSON.stringify(["url", text]))
    .digest();
}
