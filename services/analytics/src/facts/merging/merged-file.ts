import type { BlobInfo } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { createParquetEncoder, readParquetMetadata, readParquetRows } from "@reprise/facts/tables";
import { encodeGroups } from "../parquet-commit.ts";
import type { FactTable } from "../fact-tables.ts";
import { type CommitRange, overlaps } from "../superseded.ts";

/*
 * The rows of many commits in one file, `merged/<stream>/<first>-<last>-<superseded>-<version>.parquet`: of the commits from `first` to `last` that count.
 * `superseded` is the number of objects
 * under `superseded/` that had named some of these commits when it was written. They are only ever added, so a file with another count is outdated: it does not
 * count, and nothing has to be
 * deleted in the right order. Of several versions the highest counts: a file is rewritten when a generation is forgotten.
 */

export interface MergedName extends CommitRange {
  readonly stream: string;
  readonly superseded: number;
  readonly version: number;
}

export interface MergedFile extends MergedName, BlobInfo {}

/** The content of a merged file: the rows of each commit, in its order. */
export type RowsByCommit<Row> = ReadonlyMap<number, readonly Row[]>;

const COUNTS_KEY = "reprise.commits";
const N_DIGITS = 12;
const VERSION_DIGITS = 6;
const NAME = /^merged\/([A-Za-z0-9_-]+)\/([0-9]{12})-([0-9]{12})-([0-9]+)-([0-9]{6})\.parquet$/;
/**
 * Rows of one row group, which a reader holds in memory, and which is encoded in one turn. Smaller ones make files larger and slower to read: with 1,000 rows
 * it takes twice as long.
 */
const GROUP_ROWS = 4_000;

export function mergedKey({ stream, first, last, superseded, version }: MergedName): string {
  const [from, to] = [first, last].map((n) => String(n).padStart(N_DIGITS, "0"));
  return `merged/${stream}/${from}-${to}-${superseded}-${String(version).padStart(VERSION_DIGITS, "0")}.parquet`;
}

/** Undefined for a key of another kind. */
export function parseMergedKey(key: string): MergedName | undefined {
  const [, stream, ...numbers] = NAME.exec(key) ?? [];
  if (stream === undefined) return undefined;
  const [first = 0, last = 0, superseded = 0, version = 0] = numbers.map(Number);
  return { stream, first, last, superseded, version };
}

/** Those of one stream that count: none is in the range of another one. */
export function countingMerged(
  files: readonly MergedFile[],
  superseded: readonly CommitRange[],
): readonly MergedFile[] {
  const valid = files.filter(
    (file) => superseded.filter((range) => overlaps(range, file)).length === file.superseded,
  );
  return valid.filter(
    (file) =>
      !valid.some(
        (other) =>
          other !== file &&
          other.first <= file.first &&
          file.last <= other.last &&
          (other.first < file.first || file.last < other.last || other.version > file.version),
      ),
  );
}

/** The same rows are the same bytes. */
export async function encodeMerged<Row>(table: FactTable<Row>, rows: RowsByCommit<Row>): Promise<Uint8Array> {
  const counts = [...rows].map(([n, { length }]) => [n, length]);
  const encoder = createParquetEncoder(table.name, table.columns, { [COUNTS_KEY]: JSON.stringify(counts) });
  const all = [...rows.values()].flat();
  return Buffer.concat([...(await encodeGroups(encoder, all, GROUP_ROWS)), await encoder.finish()]);
}

/** @throws RepriseError `archive_corrupt` */
export async function decodeMerged<Row>(
  table: FactTable<Row>,
  bytes: Uint8Array,
  key: string,
): Promise<RowsByCommit<Row>> {
  try {
    const counts = JSON.parse(readParquetMetadata(bytes, COUNTS_KEY) ?? "") as [n: number, rows: number][];
    const all = (await readParquetRows(bytes)).map(table.toRow);
    const rows = new Map<number, readonly Row[]>();
    let from = 0;
    for (const [n, count] of counts) rows.set(n, all.slice(from, (from += count)));
    if (from !== all.length) throw new RangeError(`${all.length} rows are not ${from}.`);
    return rows;
  } catch (cause) {
    throw new RepriseError("archive_corrupt", `${key} is no merged file of analytics.`, { cause });
  }
}
