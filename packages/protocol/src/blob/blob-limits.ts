/** PROTOCOL.md §17.2 lists the same; a test compares the two in both directions. */
export const BLOB_LIMITS = {
  /** Bytes of one blob, where the tenant's limits do not say another number. */
  blobBytes: 33_554_432,
  /** Bytes of all blobs of a tenant, unfinished uploads included, where the tenant's limits do not say another number. */
  tenantBytes: 1_073_741_824,
  /** What a blob counts as at least: each is a record and a subject of the broker's, too. */
  leastCharge: 4_096,
  /** `ttl_seconds`: how long a blob is kept behind its last use. */
  ttlSeconds: 2_592_000,
  /** The least of it. */
  leastTtlSeconds: 60,
  /** How long the content of one blob may take to be stored, in seconds. */
  uploadSeconds: 7_200,
  /** The length of a media type. */
  typeLength: 128,
} as const;

/** How long a blob is kept behind its last use, where neither its upload nor the operator says. */
export const BLOB_TTL_SECONDS = 86_400;

/** What a blob of so many bytes takes of its tenant's quota. */
export function chargeOf(bytes: number): number {
  return Math.max(bytes, BLOB_LIMITS.leastCharge);
}
