export { Database } from "./database.ts";
export { openFetchedFiles } from "./fetched-files.ts";
export { type Column, createParquetEncoder, type ParquetEncoder } from "./parquet-encoder.ts";
export { readParquetRows, readParquetMetadata } from "./read-parquet-rows.ts";
export { readParquetRange } from "./read-parquet-range.ts";
export { escapeGlob, localFiles, type SearchableFiles, type StoredFile } from "./searchable-files.ts";
