import { appendFile } from "node:fs/promises";
import { zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { ExportRow, RowFile } from "./row-file.ts";

const REQUIRED = { repetition_type: "REQUIRED" } as const;
const SCHEMA = [
  { name: "event", num_children: 5 },
  { name: "tenant", type: "BYTE_ARRAY", converted_type: "UTF8", ...REQUIRED },
  { name: "generation", type: "BYTE_ARRAY", converted_type: "UTF8", ...REQUIRED },
  { name: "seq", type: "INT64", ...REQUIRED },
  { name: "at", type: "INT64", converted_type: "TIMESTAMP_MICROS", ...REQUIRED },
  { name: "event", type: "BYTE_ARRAY", converted_type: "UTF8", ...REQUIRED },
] as const;

/** A row group is what is in memory. */
const GROUP_ROWS = 50_000;
const GROUP_BYTES = 16 * 1_024 * 1_024;

/** The same columns as the lines of NDJSON have fields; `event` is JSON as text. Appends to an empty file. */
export function openParquetFile(path: string): RowFile {
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({
    writer,
    schema: [...SCHEMA],
    codec: "ZSTD",
    compressors: { ZSTD: (page: Uint8Array) => zstdCompressSync(page) },
    createdBy: "reprise",
  });
  let rows: ExportRow[] = [];
  let bytes = 0;

  const writeGroup = async () => {
    if (rows.length === 0) return;
    const column = (name: string, valueOf: (row: ExportRow) => string | bigint) => ({
      name,
      data: rows.map(valueOf),
    });
    await parquet.write({
      rowGroupSize: rows.length,
      columnData: [
        column("tenant", ({ tenant }) => tenant),
        column("generation", ({ generation }) => generation),
        column("seq", ({ seq }) => BigInt(seq)),
        column("at", ({ atUs }) => BigInt(atUs)),
        column("event", ({ event }) => event),
      ],
    });
    rows = [];
    bytes = 0;
  };
  const writeOut = async () => {
    await appendFile(path, writer.getBytes());
    writer.index = 0;
  };

  return {
    async write(row) {
      rows.push(row);
      bytes += row.event.length;
      if (rows.length < GROUP_ROWS && bytes < GROUP_BYTES) return;
      await writeGroup();
      await writeOut();
    },
    async close() {
      await writeGroup();
      await parquet.finish();
      await writeOut();
    },
  };
}
