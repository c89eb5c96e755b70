import { parquetWriteBuffer } from "hyparquet-writer";
import type { Segment } from "../segment/segment-header.ts";
import { compareSegments } from "./compare-segments.ts";
import { SEGMENT_SCHEMA, toColumns } from "./segment-columns.ts";
import { ZSTD_COMPRESSORS } from "./zstd.ts";

/** Key and value in a file's metadata: what its columns are, and which version of it. */
export const FORMAT_KEY = "reprise.segments";
export const FORMAT_VERSION = "1";

/** Small pages, because one of each column is the least that a reader of one generation must read. */
const PAGE_BYTES = 32_768;
/** A row group's description takes some 1.5 kB of the end of the file, which every reader parses: a few large ones. */
const ROW_GROUP_BYTES = 8_388_608;
const ROW_GROUP_ROWS = 8_192;

/**
 * A Parquet file, one row per segment. The same segments give the same bytes.
 * @param segments at least one, in the order of `compareSegments`
 * @throws RangeError when they are not
 */
export function encodeSegmentFile(segments: readonly Segment[]): Uint8Array {
  if (segments.length === 0) throw new RangeError("A file of no segments.");
  for (const [i, segment] of segments.entries()) {
    const before = segments[i - 1];
    if (before && compareSegments(before, segment) > 0)
      throw new RangeError(`Segment ${i} comes before segment ${i - 1}.`);
  }
  return new Uint8Array(
    parquetWriteBuffer({
      schema: SEGMENT_SCHEMA,
      columnData: toColumns(segments),
      codec: "ZSTD",
      compressors: ZSTD_COMPRESSORS,
      rowGroupSize: rowGroupSizes(segments),
      pageSize: PAGE_BYTES,
      kvMetadata: [{ key: FORMAT_KEY, value: FORMAT_VERSION }],
      createdBy: "reprise",
    }),
  );
}

function rowGroupSizes(segments: readonly Segment[]): number[] {
  const sizes: number[] = [];
  let rows = 0;
  let bytes = 0;
  for (const { sealed } of segments) {
    if (rows === ROW_GROUP_ROWS || (rows > 0 && bytes + sealed.length > ROW_GROUP_BYTES)) {
      sizes.push(rows);
      rows = 0;
      bytes = 0;
    }
    rows++;
    bytes += sealed.length;
  }
  return [...sizes, rows];
}
