import { parquetMetadata } from "hyparquet";

/** Bounds of a column of whole numbers; without rows `least` is above `greatest`. */
export interface ColumnRange {
  readonly least: number;
  readonly greatest: number;
}

const LENGTH_AND_MAGIC = 8;
const MAGIC = "PAR1";

/**
 * The least and greatest number of a column, as the statistics in a file's footer say it.
 * @param tail the file's end
 * @returns undefined where it does not say so; `footer_cut` where the footer begins before `tail`
 */
export function readParquetRange(tail: Uint8Array, column: string): ColumnRange | "footer_cut" | undefined {
  const end = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
  if (end.length < LENGTH_AND_MAGIC || end.toString("latin1", end.length - MAGIC.length) !== MAGIC)
    return undefined;
  if (end.readUInt32LE(end.length - LENGTH_AND_MAGIC) > end.length - LENGTH_AND_MAGIC) return "footer_cut";
  let range: ColumnRange = { least: Number.POSITIVE_INFINITY, greatest: Number.NEGATIVE_INFINITY };
  try {
    for (const { columns } of parquetMetadata(Uint8Array.from(tail).buffer).row_groups) {
      const found = columns.find(({ meta_data: meta }) => meta?.path_in_schema.join(".") === column);
      const { min_value: min, max_value: max } = found?.meta_data?.statistics ?? {};
      if (typeof min !== "bigint" || typeof max !== "bigint") return undefined;
      range = { least: Math.min(range.least, Number(min)), greatest: Math.max(range.greatest, Number(max)) };
    }
  } catch {
    // Reading its rows says what is wrong with it.
    return undefined;
  }
  return range;
}
