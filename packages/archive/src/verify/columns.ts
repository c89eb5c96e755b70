import { type AsyncBuffer, parquetReadObjects } from "hyparquet";
import { toColumns } from "../parquet/segment-columns.ts";
import { ZSTD_DECOMPRESSORS } from "../parquet/zstd.ts";
import type { Segment } from "../segment/segment-header.ts";

const COPIES = toColumns([])
  .map(({ name }) => name)
  .filter((name) => name !== "header" && name !== "sealed");

/**
 * A column of a file that does not repeat what the headers of its segments say. No leaf is a hash of it, and searches read nothing
 * else: a process that merges files could make a generation disappear from every search.
 * @param segments all of the file, in its order
 */
export async function findOtherColumn(
  bytes: Uint8Array,
  segments: readonly Segment[],
): Promise<string | undefined> {
  const file: AsyncBuffer = {
    byteLength: bytes.length,
    slice: (start, end) => Uint8Array.from(bytes.subarray(start, end)).buffer,
  };
  const rows = await parquetReadObjects({
    file,
    columns: COPIES,
    compressors: ZSTD_DECOMPRESSORS,
    // A Date has no microseconds.
    parsers: { timestampFromMicroseconds: (micros) => micros },
    utf8: false,
  });
  const expected = new Map(toColumns(segments).map(({ name, data }) => [name, data]));
  // `toColumns` makes each of the COPIES.
  return COPIES.find((name) => rows.some((row, i) => (row[name] ?? undefined) !== expected.get(name)![i]));
}
