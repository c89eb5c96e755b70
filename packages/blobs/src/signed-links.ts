import { type BlobId, type TenantId, unixNow } from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";

/*
 * Addresses of blobs that need no key, for model servers: the tenant's own key has signed which blob it is, and until when.
 */

/** Lifetime of a link. */
export const LINK_SECONDS = 900;
/** The clock of the worker that signs may be ahead of the node's that is asked. */
const CLOCK_LEEWAY_MS = 60_000;

/** The contents of a parsed address. */
export interface SignedLink {
  readonly tenant: TenantId;
  readonly blob: BlobId;
  /** Unix seconds, as text. */
  readonly expires: string;
  /** In base64url. */
  readonly signature: string;
}

/** The path and query of a new one. @throws RepriseError `broker_unavailable` */
export async function signLink(
  { names }: Pick<BlobStorage, "names">,
  tenant: TenantId,
  blob: BlobId,
  nowMs: number = unixNow(),
): Promise<string> {
  const expires = `${Math.floor(nowMs / 1_000) + LINK_SECONDS}`;
  const signature = await names.signatureOf(tenant, textOf(blob, expires));
  return `/v1/media/${tenant}/${blob}?expires=${expires}&signature=${signature.toString("base64url")}`;
}

/**
 * True if the tenant has signed the link, and it has not expired.
 * @throws RepriseError `broker_unavailable`
 */
export async function isLinkGood(
  { names }: Pick<BlobStorage, "names">,
  { tenant, blob, expires, signature }: SignedLink,
  nowMs: number = unixNow(),
): Promise<boolean> {
  const leftMs = Number(expires) * 1_000 - nowMs;
  if (!(leftMs > 0 && leftMs <= LINK_SECONDS * 1_000 + CLOCK_LEEWAY_MS)) return false;
  return names.isSigned(tenant, textOf(blob, expires), Buffer.from(signature, "base64url"));
}

function textOf(blob: BlobId, expires: string): string {
  return `${blob} ${expires}`;
}
