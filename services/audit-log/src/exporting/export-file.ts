import { RepriseError } from "@reprise/protocol";
import { open, rename, rm } from "node:fs/promises";
import { openNdjsonFile } from "./row-file.ts";
import { openParquetFile } from "./parquet-file.ts";
import type { RowFile } from "./row-file.ts";

export const EXPORT_FORMATS = ["parquet", "ndjson"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Only the user who has asked for the text may read it. */
const MODE = 0o600;

/**
 * Writes a file that is there only when it is whole.
 * @param write gives the rows, and what is returned
 * @throws RepriseError `invalid_request` when there is such a file already; what `write` throws
 */
export async function writeExport<T>(
  path: string,
  format: ExportFormat,
  write: (file: RowFile) => Promise<T>,
): Promise<T> {
  await assertAbsent(path);
  const part = `${path}.part`;
  await (await open(part, "w", MODE)).close();
  try {
    const outcome = await writeInto(part, format, write);
    await rename(part, path);
    return outcome;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

async function writeInto<T>(
  path: string,
  format: ExportFormat,
  write: (file: RowFile) => Promise<T>,
): Promise<T> {
  const file = format === "parquet" ? openParquetFile(path) : await openNdjsonFile(path);
  try {
    return await write(file);
  } finally {
    await file.close();
  }
}

async function assertAbsent(path: string): Promise<void> {
  try {
    await (await open(path, "r")).close();
  } catch {
    return;
  }
  throw new RepriseError("invalid_request", `${path} is there already.`, { param: "out" });
}
