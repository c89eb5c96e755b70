import { parquetMetadata } from "hyparquet";

/**
 * What a file says under one key of its metadata; undefined where it says nothing.
 * @throws what hyparquet throws for bytes that are no Parquet file
 */
export function readParquetMetadata(bytes: Uint8Array, key: string): string | undefined {
  const { buffer } = Uint8Array.from(bytes);
  return parquetMetadata(buffer).key_value_metadata?.find((pair) => pair.key === key)?.value;
}
