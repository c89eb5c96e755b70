import {
  blobSubject,
  type StreamSeq,
  type TenantId,
  type UploadRecord,
  uploadSubject,
} from "@reprise/protocol";
import type { BlobStorage } from "./blob-storage.ts";

/** An upload's row as it was read. */
export interface PlacedUpload {
  readonly tenant: TenantId;
  readonly row: UploadRecord;
  readonly at: StreamSeq;
}

/**
 * Gives back the room that was kept for an upload, and counts what is stored instead. Of all who try one does it.
 * @param charge what counts for the blob that it has become; 0 where it is none, or another upload's
 * @returns the row as it is then; undefined where it has changed since it was read
 * @throws RepriseError `broker_unavailable`
 */
export async function settleUpload(
  { rows, accounts }: Pick<BlobStorage, "rows" | "accounts">,
  { tenant, row, at }: PlacedUpload,
  charge: number,
): Promise<PlacedUpload | undefined> {
  if (row.reserved === 0) return { tenant, row, at };
  const settled = { ...row, reserved: 0 };
  const stored = await rows.write(uploadSubject(tenant, row.id), settled, at);
  if (stored === undefined) return undefined;
  await accounts.add(tenant, charge - row.reserved);
  return { tenant, row: settled, at: stored };
}

/** True if an upload's chunks are those of the blob that it has become. */
export async function isOfBlob(
  { rows }: Pick<BlobStorage, "rows">,
  { tenant, row: { id, blob } }: Pick<PlacedUpload, "tenant" | "row">,
): Promise<boolean> {
  if (blob === undefined) return false;
  const { row } = await rows.read(blobSubject(tenant, blob));
  return (row?.kind === "blob" || row?.kind === "removed") && row.chunks === id;
}
