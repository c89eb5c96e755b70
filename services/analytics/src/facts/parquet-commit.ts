import { setImmediate as turn } from "node:timers/promises";
import { zstdDecompressSync } from "node:zlib";
import type { LanePosition } from "@reprise/facts/lane";
import type { EncodedFold } from "@reprise/facts";
import { OPS_STREAM, RepriseError } from "@reprise/protocol";
import { createParquetEncoder, type ParquetEncoder, readParquetMetadata } from "@reprise/facts/tables";
import { compressPieces, encodeJsonArray } from "./encode-json.ts";
import type { FactTable, TableName } from "./fact-tables.ts";

/**
 * One batch of a stream, as analytics stores it: the rows of the generations that ended in it, and the consumer's place after it, in one object that is created
 * or not. So
 * neither exists without the other, and there is nothing else to find or to sweep. The object is a Parquet file: any reader of Parquet sees the rows.
 */
export interface Commit<Fold = EncodedFold> {
  /** Counts from 0, in each lane. */
  readonly n: number;
  readonly lane: LanePosition;
  /** The newest object that has all folds that were open after a commit. Undefined: there is none yet. */
  readonly base: BaseName | undefined;
  /** Open folds that have changed, by the subjects of their logs. */
  readonly changed: readonly (readonly [subject: string, Fold])[];
  /** Subjects of the folds that are closed. */
  readonly closed: readonly string[];
}

export interface BaseName {
  /** Number of the commit. */
  readonly n: number;
  readonly key: string;
}

/** Commits between two objects with all open folds, which limit the reads of a restart. The same number of commits is merged together. */
export const COMMITS_PER_BASE = 64;

const COMMIT_KEY = "reprise.commit";
const VERSION = 1;
const MAX_STATE_BYTES = 1_024 * 1_024 * 1_024;
const MAX_BASE_BYTES = 4 * 1_024 * 1_024 * 1_024;
const N_DIGITS = 12;
/** Rows of one row group. Commits with more are of a lane that catches up, and are merged. */
const GROUP_ROWS = 1_000;

/** Returns the table of a stream: OPS has the deliveries of generations, all others are logs. */
export function tableNameOf(stream: string): TableName {
  return stream === OPS_STREAM ? "deliveries" : "generations";
}

/** @param stream of the broker: its name has no slash */
export function commitPrefix(stream: string): string {
  return `${tableNameOf(stream)}/${stream}/`;
}

export function commitKeyOf(stream: string, n: number): string {
  return `${commitPrefix(stream)}${String(n).padStart(N_DIGITS, "0")}.parquet`;
}

/** Undefined for a key of another kind. */
export function parseCommitKey(key: string): { stream: string; n: number } | undefined {
  const [, stream, digits] =
    /^(?:generations|deliveries)\/([A-Za-z0-9_-]+)\/([0-9]{12})\.parquet$/.exec(key) ?? [];
  return stream !== undefined && digits !== undefined ? { stream, n: Number(digits) } : undefined;
}

/** The same commit and rows are the same bytes. */
export async function encodeCommit<Row>(
  table: FactTable<Row>,
  commit: Commit<unknown>,
  rows: readonly Row[],
): Promise<Uint8Array> {
  const state = Buffer.from(await compressPieces(encodeState(commit)));
  const encoder = createParquetEncoder(table.name, table.columns, { [COMMIT_KEY]: state.toString("base64") });
  return Buffer.concat([...(await encodeGroups(encoder, rows, GROUP_ROWS)), await encoder.finish()]);
}

/** The folds are what is long in it. */
async function* encodeState({ changed, ...rest }: Commit<unknown>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify({ v: VERSION, ...rest }).slice(0, -1)},"changed":`);
  yield* encodeJsonArray(changed);
  yield Buffer.from("}");
}

/** @throws RepriseError `archive_corrupt` */
export function decodeCommit<Fold = EncodedFold>(bytes: Uint8Array, key: string): Commit<Fold> {
  try {
    const packed = Buffer.from(readParquetMetadata(bytes, COMMIT_KEY) ?? "", "base64");
    const json = zstdDecompressSync(packed, { maxOutputLength: MAX_STATE_BYTES }).toString();
    const { v, ...commit } = JSON.parse(json) as Commit<Fold> & { v: number };
    if (v !== VERSION) throw new RangeError(`Version ${v} is not ${VERSION}.`);
    return commit;
  } catch (cause) {
    throw new RepriseError("archive_corrupt", `${key} is no commit of analytics.`, { cause });
  }
}

/** Rows in row groups, each in a turn of the event loop: 1,000 rows take some 10 ms. */
export async function encodeGroups<Row>(
  encoder: ParquetEncoder<Row>,
  rows: readonly Row[],
  groupRows: number,
): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < rows.length; from += groupRows) {
    if (from > 0) await turn();
    pieces.push(await encoder.encode(rows.slice(from, from + groupRows)));
  }
  return pieces;
}

/** Encodes all folds that are open after a commit, by the subjects of their logs. They must not change before it is encoded. */
export function encodeBase(folds: Iterable<readonly [string, unknown]>): Promise<Uint8Array> {
  return compressPieces(encodeJsonArray(folds));
}

/** @throws RepriseError `archive_corrupt` */
export function decodeBase(bytes: Uint8Array, key: string): readonly (readonly [string, unknown])[] {
  try {
    const json = zstdDecompressSync(bytes, { maxOutputLength: MAX_BASE_BYTES }).toString();
    return JSON.parse(json) as [string, unknown][];
  } catch (cause) {
    throw new RepriseError("archive_corrupt", `${key} is no base of analytics.`, { cause });
  }
}
