import type { ArchiveFile } from "../commit/commit.ts";
import type { SegmentHeader } from "../segment/segment-header.ts";

const NAME =
  /^data\/tenant=([A-Za-z0-9_-]+)\/dt=\d{4}-\d{2}-\d{2}\/([A-Z0-9_]+)-(\d+)-(\d+)-([0-9a-f]{12})\.parquet$/;

/** Whether a file has a key that such a file of the tenant can have: nothing else is read, wherever a forged commit points. */
export function isKeyOf(tenant: string, { key, sha256 }: Pick<ArchiveFile, "key" | "sha256">): boolean {
  const [, owner, , , , digits] = NAME.exec(key) ?? [];
  return owner === tenant && digits === sha256.slice(0, 12);
}

/** Whether a segment comes from where the key of its file says. */
export function isPlacedIn(key: string, header: SegmentHeader): boolean {
  const [, tenant, stream, first, last] = NAME.exec(key) ?? [];
  return (
    header.tenant === tenant &&
    header.stream === stream &&
    header.first_stream_seq >= Number(first) &&
    header.last_stream_seq <= Number(last)
  );
}
