import * as z from "zod";
import { archiveRecordSchema, rangeSchema, streamSeqSchema } from "./record.ts";

const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** A file of sealed segments. Its name says where it belongs: `data/tenant=<tenant>/dt=<day>/<stream>-<first>-<last>-<hash>.parquet`. */
export const fileSchema = z.strictObject({
  key: z.string(),
  sha256,
  bytes: count,
  segments: count,
  events: count,
  /** Time of its oldest and newest message, microseconds since 1970. */
  first_at: count,
  last_at: count,
  /** `fingerprintOf` each generation in it, once, ascending, four bytes each, base64: a search for a generation opens no other file. */
  generations: z.string(),
});
export type ArchiveFile = z.infer<typeof fileSchema>;

const tenantPartSchema = z.strictObject({
  tenant: z.string(),
  /** New leaves of the tenant's tree in their order, 32 bytes each, base64: those of the files' segments, then those of the records. */
  leaves: z.string(),
  files: z.array(fileSchema),
  /** Files that are no longer part of the archive: their segments are in `files`, or a record says why they are gone. */
  removes: z.array(z.string()),
  records: z.array(archiveRecordSchema),
  /** The tree with these leaves: a C2SP checkpoint, signed by the archive. */
  checkpoint: z.string(),
});
export type TenantPart = z.infer<typeof tenantPartSchema>;

/** The range of one JetStream stream that a commit archives. */
export const laneSchema = z.strictObject({
  stream: z.string(),
  /** Begins with 0; one more whenever the stream turned out to be another one, or to have lost what was archived. */
  epoch: count,
  /** When the broker made the stream: another time is another stream. ISO 8601. */
  created: z.string(),
  /** Everything from `first` to `last` is dealt with here: `first` follows the `last` of the lane's commit before, in the same epoch. */
  first: streamSeqSchema,
  last: streamSeqSchema,
  /**
   * Stream sequence of the message at `last`, or of the last one before it: a stream that lost it and continued has another message there. 0 while there was
   * none.
   */
  last_seq_stored: streamSeqSchema,
  last_at: count,
  /** Messages archived by this commit. */
  events: count,
  /** Gone before they could be archived. */
  gaps: z.array(rangeSchema),
  /** Not there, lawfully: purged by an erasure, replaced by a newer last value, or no message of the platform. */
  skipped: z.array(rangeSchema),
});
export type Lane = z.infer<typeof laneSchema>;

/**
 * One step of an archive: `_log/<n>` is created exclusively, so of two that try to make the same step one stops. It is the leaf `n` of the
 * archive's own tree. What no commit names is not part of the archive.
 */
export const commitSchema = z.strictObject({
  v: z.literal(1),
  n: count,
  /** SHA-256 of the commit before, as it is stored; 64 zeros for the first. */
  prev: sha256,
  at: z.string(),
  writer: z.string(),
  lane: laneSchema.optional(),
  /** In the order of their names. */
  tenants: z.array(tenantPartSchema),
  /** By the archive, of all that is before it: an attacker that may write objects can't make a commit that counts as the archive's. */
  signed: z.string(),
});
export type Commit = z.infer<typeof commitSchema>;

/** The name of the archive's own tree, whose leaves are the commits. No tenant can be called so: `.` is not allowed in their names. */
export const ARCHIVE_TREE = ".archive";

/** True if a range of a lane begins at the lane's end. */
export function followsLane(before: Lane | undefined, { epoch, first }: Lane): boolean {
  if (!before) return epoch === 0;
  return epoch === before.epoch ? first === before.last + 1 : epoch === before.epoch + 1;
}
