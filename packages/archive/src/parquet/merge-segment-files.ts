import type { Segment } from "../segment/segment-header.ts";
import { compareSegments } from "./compare-segments.ts";
import { encodeSegmentFile } from "./encode-segment-file.ts";
import { readSegmentFile } from "./open-segment-file.ts";

/** Approximate maximum of a row's header and repeated columns in a file, in bytes. */
const ROW_BYTES = 512;

/** A file that takes the place of others. */
export interface MergedFile {
  readonly bytes: Uint8Array;
  /** Its segments, in the order of its rows. */
  readonly segments: readonly Segment[];
}

/**
 * The segments of many files in few. Headers and sealed parts stay as they are, byte by byte, so leaf hashes do too.
 * @param maxBytes about how large each file may become; a segment that is larger alone has a file of its own
 * @returns no files for none
 * @throws RepriseError `archive_corrupt`
 */
export async function mergeSegmentFiles(
  files: readonly Uint8Array[],
  { maxBytes }: { maxBytes: number },
): Promise<MergedFile[]> {
  const segments: Segment[] = [];
  for (const file of files) segments.push(...(await readSegmentFile(file)));
  segments.sort(compareSegments);
  return cut(segments, maxBytes).map((part) => ({ bytes: encodeSegmentFile(part), segments: part }));
}

function cut(segments: readonly Segment[], maxBytes: number): Segment[][] {
  const parts: Segment[][] = [];
  let part: Segment[] = [];
  let room = 0;
  for (const segment of segments) {
    const bytes = segment.sealed.length + ROW_BYTES;
    if (bytes > room || parts.length === 0) {
      part = [];
      parts.push(part);
      room = maxBytes;
    }
    part.push(segment);
    room -= bytes;
  }
  return parts;
}
