/** PROTOCOL.md §17.2 lists the same; a test compares the two in both directions. */
export const BLOB_LIMITS = {
  /** Bytes of one blob, where the tenant's limits do not say another number. */
  blobBytes: 33_554_432,
  /** Bytes of all blobs of a tenant, unfinished uploads included, where the tenant's limits do not say another number. */
  tenantBytes: 1_073_741_824,
  /** Least bytes charged for a blob: each is also a record and a subject of the broker. */
  leastCharge: 4_096,
  /** `ttl_seconds`: seconds that a blob is kept after its last use. */
  ttlSeconds: 2_592_000,
  /** The least of it. */
  leastTtlSeconds: 60,
  /** Seconds that storing the content of one blob may take. */
  uploadSeconds: 7_200,
  /** The length of a media type. */
  typeLength: 128,
} as const;

/** Seconds that a blob is kept after its last use, if neither its upload nor the operator sets them. */
export const BLOB_TTL_SECONDS = 86_400;

/** Returns the bytes of its tenant's quota that a blob takes. */
export function chargeOf(bytes: number): number {
  return Math.max(bytes, BLOB_LIMITS.leastCharge);
}
