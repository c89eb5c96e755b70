import { zstdDecompressSync } from "node:zlib";
import { parquetReadObjects, parquetMetadata } from "hyparquet";

const MAX_PAGE_BYTES = 1_073_741_824;

const compressors = {
  ZSTD(page: Uint8Array, length: number): Uint8Array {
    return zstdDecompressSync(page, { maxOutputLength: Math.min(Math.max(length, 1), MAX_PAGE_BYTES) });
  },
};

/**
 * All rows of a file of `createParquetEncoder`, in their order; whole numbers are bigints.
 * @throws what hyparquet and zlib throw for other bytes
 */
export async function readParquetRows(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const { buffer } = Uint8Array.from(bytes);
  const rows = await parquetReadObjects({ file: buffer, compressors });
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? null])),
  );
}

/**
 * Returns the value of one key of a file's metadata; undefined if the key is missing.
 * @throws what hyparquet throws for bytes that are no Parquet file
 */
export function readParquetMetadata(bytes: Uint8Array, key: string): string | undefined {
  const { buffer } = Uint8Array.from(bytes);
  return parquetMetadata(buffer).key_value_metadata?.find((pair) => pair.key === key)?.value;
}
