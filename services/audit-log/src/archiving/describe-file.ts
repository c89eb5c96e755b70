import { type ArchiveFile, dataKey, encodeFingerprints, type Segment, sha256Hex } from "@reprise/archive";

/** Where a file of segments belongs. */
export interface FilePlace {
  readonly tenant: string;
  /** UTC, `2026-11-21`. */
  readonly day: string;
  /** What its segments were taken from: the stream, and from where to where. */
  readonly stream: string;
  readonly first: number;
  readonly last: number;
}

/** What a commit says of a file. */
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
