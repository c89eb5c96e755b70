import type { ArchiveFile } from "../commit/commit.ts";
import type { SegmentHeader } from "../segment/segment-header.ts";

const NAME =
  /^data\/tenant=([A-Za-z0-9_-]+)\/dt=\d{4}-\d{2}-\d{2}\/([A-Z0-9_]+)-(\d+)-(\d+)-([0-9a-f]{12})\.parquet$/;

/** True if a file of the tenant can have the key: other keys are never read, even if a forged commit names them. */
export function isKeyOf(tenant: string, { key, sha256 }: Pick<ArchiveFile, "key" | "sha256">): boolean {
  const [, owner, , , , digits] = NAME.exec(key) ?? [];
  return owner === tenant && digits === sha256.slice(0, 12);
}

/** True if a segment belongs to the place that its file's key names. */
export function isPlacedIn(key: string, header: SegmentHeader): boolean {
  const [, tenant, stream, first, last] = NAME.exec(key) ?? [];
  return (
    header.tenant === tenant &&
    header.stream === stream &&
    header.first_stream_seq >= Number(first) &&
    header.last_stream_seq <= Number(last)
  );
}
