import { appendFile } from "node:fs/promises";
import { type Column, createParquetEncoder } from "@reprise/facts/tables";
import type { ExportRow, RowFile } from "./row-file.ts";

const COLUMNS: readonly Column<ExportRow>[] = [
  { name: "tenant", type: "text", valueOf: ({ tenant }) => tenant },
  { name: "generation", type: "text", valueOf: ({ generation }) => generation },
  { name: "seq", type: "integer", valueOf: ({ seq }) => seq },
  { name: "at", type: "time", valueOf: ({ atUs }) => atUs },
  { name: "event", type: "text", valueOf: ({ event }) => event },
];

/** A row group is what is in memory. */
const GROUP_ROWS = 50_000;
const GROUP_BYTES = 16 * 1_024 * 1_024;

/** The same columns as the lines of NDJSON have fields; `event` is JSON as text. Appends to an empty file. */
export function openParquetFile(path: string): RowFile {
  const encoder = createParquetEncoder("event", COLUMNS);
  let rows: ExportRow[] = [];
  let bytes = 0;

  const writeGroup = async () => {
    await appendFile(path, await encoder.encode(rows));
    rows = [];
    bytes = 0;
  };

  return {
    async write(row) {
      rows.push(row);
      bytes += row.event.length;
      if (rows.length >= GROUP_ROWS || bytes >= GROUP_BYTES) await writeGroup();
    },
    async close() {
      await writeGroup();
      await appendFile(path, await encoder.finish());
    },
  };
}
