import { zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";

interface ColumnType {
  readonly text: string;
  readonly integer: number;
  /** Microseconds since 1970. */
  readonly time: number;
  readonly boolean: boolean;
}

/** A column of a table. */
export type Column<Row> = {
  [Type in keyof ColumnType]: {
    readonly name: string;
    readonly type: Type;
    /** Null only in a column that is nullable. */
    readonly valueOf: (row: Row) => ColumnType[Type] | null;
    readonly isNullable?: boolean;
  };
}[keyof ColumnType];

/** A table as a Parquet file, in pieces whose bytes follow each other. Equal rows are equal bytes. */
export interface ParquetEncoder<Row> {
  /** The rows of one call are a row group: what a reader holds in memory. */
  encode(rows: readonly Row[]): Promise<Uint8Array>;
  /** The last piece. */
  finish(): Promise<Uint8Array>;
}

const PARQUET_TYPES = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  integer: { type: "INT64" },
  time: { type: "INT64", converted_type: "TIMESTAMP_MICROS" },
  boolean: { type: "BOOLEAN" },
} as const;

/**
 * @param name of the table
 * @param metadata of the file, by keys of the caller's: `readParquetMetadata`
 */
export function createParquetEncoder<Row>(
  name: string,
  columns: readonly Column<Row>[],
  metadata: Readonly<Record<string, string>> = {},
): ParquetEncoder<Row> {
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({
    writer,
    schema: [
      { name, num_children: columns.length },
      ...columns.map((column) => ({
        name: column.name,
        ...PARQUET_TYPES[column.type],
        repetition_type: column.isNullable ? ("OPTIONAL" as const) : ("REQUIRED" as const),
      })),
    ],
    codec: "ZSTD",
    compressors: { ZSTD: (page: Uint8Array) => zstdCompressSync(page) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: "reprise",
  });
  const takeBytes = () => {
    const bytes = new Uint8Array(writer.getBytes());
    writer.index = 0;
    return bytes;
  };
  return {
    async encode(rows) {
      if (rows.length === 0) return new Uint8Array();
      await parquet.write({
        rowGroupSize: rows.length,
        columnData: columns.map((column) => ({
          name: column.name,
          data: rows.map((row) => toValue(column.valueOf(row))),
        })),
      });
      return takeBytes();
    },
    async finish() {
      await parquet.finish();
      return takeBytes();
    },
  };
}

/** INT64 takes bigints alone. */
function toValue(value: string | number | boolean | null): string | bigint | boolean | null {
  return typeof value === "number" ? BigInt(value) : value;
}
