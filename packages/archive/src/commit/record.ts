import * as z from "zod";

const at = z.string();
export const streamSeqSchema = z.int().min(0).brand<"StreamSeq">();
/** First and last stream sequence, both included. */
export const rangeSchema = z.tuple([streamSeqSchema, streamSeqSchema]);
export type StreamRange = z.infer<typeof rangeSchema>;

/** Places of streams, by their names. One of the same name that the broker makes later has other places. */
const placesSchema = z.record(
  z.string(),
  z.strictObject({
    /** When the broker made the stream. */
    created: z.string(),
    ranges: z.array(rangeSchema),
  }),
);
export type PlacesByStream = z.infer<typeof placesSchema>;

/**
 * Records about the archive itself, as leaves of the tenant's tree. They hold no generated text and no subject by name: a `tag` is a keyed hash.
 */
export const archiveRecordSchema = z.discriminatedUnion("kind", [
  /** The generations of a subject are to be erased; `purged` is what is taken out of the live streams for it, which is no gap. */
  z.strictObject({
    kind: z.literal("erasure_requested"),
    at,
    id: z.string(),
    by: z.string(),
    reason: z.string(),
    tag: z.string().optional(),
    generations: z.array(z.string()),
    purged: placesSchema,
  }),
  z.strictObject({ kind: z.literal("key_destroyed"), at, id: z.string(), kids: z.array(z.string()) }),
  z.strictObject({
    kind: z.literal("hold_set"),
    at,
    id: z.string(),
    by: z.string(),
    reason: z.string(),
    /** The scope of the hold: the whole tenant when both are undefined. */
    tag: z.string().optional(),
    generation: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("hold_lifted"), at, id: z.string(), by: z.string(), reason: z.string() }),
  /** A day is over for good: its files, by name and hash. Its leaves stay in the tree. */
  z.strictObject({
    kind: z.literal("retention_deleted"),
    at,
    day: z.string(),
    files: z.array(
      z.strictObject({ key: z.string(), sha256: z.string(), segments: z.int(), events: z.int() }),
    ),
  }),
  /** The archive holds the bytes of a blob. What they are is sealed with them: a hash of content would outlive its erasure. */
  z.strictObject({
    kind: z.literal("blob_copied"),
    /** When the broker stored that the blob is there. */
    at,
    /** The owner of the blob: its subject, or the generation that made it. Neither: the tenant. */
    tag: z.string().optional(),
    generation: z.string().optional(),
    blob: z.string(),
    /** Prefix of the keys of its parts. */
    key: z.string(),
    parts: z.int().min(2),
    /** Size and hash of all parts together, as stored. */
    bytes: z.int().min(1),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    kid: z.string(),
    commitment: z.string(),
    salt: z.string().regex(/^[0-9a-f]{32}$/),
  }),
  /** A blob of which the archive was to hold the bytes, and does not. */
  z.strictObject({
    kind: z.literal("blob_missed"),
    at,
    /** `gone`: deleted, or over its time; `damaged`: it was not what its record says; `erased`: an erasure takes it. */
    reason: z.enum(["gone", "damaged", "erased"]),
    blob: z.string(),
  }),
  /** The time of copies is over. */
  z.strictObject({ kind: z.literal("copies_deleted"), at, keys: z.array(z.string()) }),
]);

export type ArchiveRecord = z.infer<typeof archiveRecordSchema>;

/**
 * The JSON that is hashed: `v` and the tenant first, so that no record is mistaken for another tenant's or for a header; the fields always in the order
 * of the schema.
 */
export function encodeArchiveRecord(tenant: string, record: ArchiveRecord): Uint8Array {
  const ordered = archiveRecordSchema.parse(record);
  return new TextEncoder().encode(JSON.stringify({ v: 1, record: tenant, ...ordered }));
}

/** The bytes of a blob, as a commit names them. */
export type BlobCopy = Extract<ArchiveRecord, { kind: "blob_copied" }>;

/** Returns the copies that a tenant's records leave, by `key`, oldest first: without those that were deleted or whose key is destroyed. */
export function liveCopies(records: readonly ArchiveRecord[]): Map<string, BlobCopy> {
  const copies = new Map<string, BlobCopy>();
  const destroyed = new Set<string>();
  for (const record of records) {
    if (record.kind === "blob_copied") copies.set(record.key, record);
    else if (record.kind === "copies_deleted") for (const key of record.keys) copies.delete(key);
    else if (record.kind === "key_destroyed") for (const kid of record.kids) destroyed.add(kid);
  }
  for (const [key, { kid }] of copies) if (destroyed.has(kid)) copies.delete(key);
  return copies;
}
