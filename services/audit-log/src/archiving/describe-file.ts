import {
  type ArchiveFile,
  dataKey,
  encodeFingerprints,
  type FilePlace,
  type Segment,
  sha256Hex,
} from "@reprise/archive";

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
