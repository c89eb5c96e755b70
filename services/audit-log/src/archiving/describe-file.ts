import {
  type ArchiveFile,
  type DataFileName,
  dataKey,
  encodeFingerprints,
  type Segment,
  sha256Hex,
} from "@reprise/archive";
import { asStreamSeq } from "@reprise/protocol";

/** Where a file of segments belongs, and what its segments were taken from. */
export type FilePlace = Omit<DataFileName, "sha256">;

/** The entry of a file in a commit. */
export function describeFile(
  place: FilePlace,
  { bytes, segments }: { bytes: Uint8Array; segments: readonly Segment[] },
): ArchiveFile {
  const sha256 = sha256Hex(bytes);
  const headers = segments.map(({ header }) => header);
  return {
    key: dataKey({ ...place, sha256 }),
    sha256,
    bytes: bytes.length,
    segments: segments.length,
    events: headers.reduce((sum, { events }) => sum + events, 0),
    first_at: Math.min(...headers.map(({ first_at }) => first_at)),
    last_at: Math.max(...headers.map(({ last_at }) => last_at)),
    generations: encodeFingerprints(headers.map(({ generation }) => generation)),
  };
}

const NAME =
  /^data\/tenant=([^/]+)\/dt=(\d{4}-\d{2}-\d{2})\/([A-Z0-9_]+)-(\d+)-(\d+)-([0-9a-f]{12})\.parquet$/;

/** Parses the key of a file, without its whole hash; undefined for a key that `dataKey` has not made. */
export function parseDataKey(key: string): FilePlace | undefined {
  const [, tenant, day, stream, first, last] = NAME.exec(key) ?? [];
  if (tenant === undefined || day === undefined || stream === undefined) return undefined;
  return { tenant, day, stream, first: asStreamSeq(Number(first)), last: asStreamSeq(Number(last)) };
}
