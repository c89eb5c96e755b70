import * as z from "zod";
import { isBlobId, isUploadId, type BlobId, type UploadId } from "./blob-id.ts";

/*
 * The records of BLOBS: one JSON object under each subject, its last value. A record of a kind or version that this process does not know is left
 * alone by it.
 */

const version = z.literal(1);
const blobId = z.custom<BlobId>(isBlobId);
const uploadId = z.custom<UploadId>(isUploadId);
const bytes = z.int().min(0);

/** Fields that are sent with an upload and stay with its blob. */
const owned = {
  /** The media type, without parameters. */
  type: z.string(),
  /** Whose key it came with. */
  by: z.string(),
  /** A pseudonym of the person whom it is about: an erasure of that subject takes it. */
  subject: z.string().optional(),
  end_user: z.string().optional(),
  /** The generation that made it, and whose erasure removes it. Absent: it was uploaded. */
  generation: z.string().optional(),
  /** Seconds that it is kept after its last use. */
  ttl_seconds: z.int().min(1),
  created_at: z.string(),
  /** From then on it is not there any more, whether or not it was removed yet. */
  expires_at: z.string(),
};

const blobSchema = z.object({
  version,
  kind: z.literal("blob"),
  id: blobId,
  bytes,
  /** Lower-case hex, of the content. Shown only to auditors. */
  sha256: z.string(),
  /** Whose chunks are its bytes. */
  chunks: uploadId,
  ...owned,
});

const uploadSchema = z.object({
  version,
  kind: z.literal("upload"),
  id: uploadId,
  /** The most that it may have. */
  max_bytes: bytes,
  /** Bytes of the tenant's quota that it takes; 0 once it is finished. */
  reserved: bytes,
  /** The blob that it has become, and its size. */
  blob: blobId.optional(),
  bytes: bytes.optional(),
  ...owned,
});

/** In the place of a record until its chunks are gone: none of them is read any more. */
const removedSchema = z.object({ version, kind: z.literal("removed"), chunks: uploadId });

/** Below 0 while what was given back is not counted yet. */
const accountSchema = z.object({ version, kind: z.literal("account"), bytes: z.int() });

/** Random, 32 bytes in base64url: without it no other tenant, and no client, can tell an id from the content. */
const keySchema = z.object({ version, kind: z.literal("key"), secret: z.string().min(43) });

const sweepSchema = z.object({ version, kind: z.literal("sweep"), at: z.string() });

const rowSchema = z.discriminatedUnion("kind", [
  blobSchema,
  uploadSchema,
  removedSchema,
  accountSchema,
  keySchema,
  sweepSchema,
]);

export type BlobRecord = z.infer<typeof blobSchema>;
export type UploadRecord = z.infer<typeof uploadSchema>;
export type RemovedRow = z.infer<typeof removedSchema>;
export type BlobAccount = z.infer<typeof accountSchema>;
export type BlobKey = z.infer<typeof keySchema>;
export type SweepRow = z.infer<typeof sweepSchema>;
export type BlobRow = z.infer<typeof rowSchema>;

/** Undefined for what is no record of BLOBS. */
export function decodeBlobRow(payload: Uint8Array): BlobRow | undefined {
  try {
    return rowSchema.safeParse(JSON.parse(new TextDecoder().decode(payload))).data;
  } catch {
    return undefined;
  }
}

export function encodeBlobRow(row: BlobRow): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(row));
}
