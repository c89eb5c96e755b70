import { asStreamSeq, type StreamSeq } from "@reprise/protocol";

/* The keys of an archive's objects are built and parsed here only. */

const WIDTH = 10;
const FOLDER = 10_000;

/** `_log/000001/0000012345.json`: ten thousand commits per folder. */
export function commitKey(n: number): string {
  return `_log/${String(Math.floor(n / FOLDER)).padStart(6, "0")}/${String(n).padStart(WIDTH, "0")}.json`;
}

/** Returns the signed subject of a commit. */
export function commitSubject(archive: string, n: number): { origin: string; n: number } {
  return { origin: `${archive}/.commit`, n };
}

/** Returns the signed subject of a snapshot. @param n number of commits that it sums up */
export function snapshotSubject(archive: string, n: number): { origin: string; n: number } {
  return { origin: `${archive}/.snapshot`, n };
}

/** The state after all commits up to some `n`, so that they need not all be read again. May be missing or old. */
export const SNAPSHOT_KEY = "_log/snapshot.json";

/** The newest checkpoint of the archive's own tree. Those of the tenants' trees are in the commits. */
export function checkpointKey(tree: string): string {
  return `checkpoint/${tree}`;
}

/** The newest checkpoint of a tree that witnesses have cosigned, with their signatures. */
export function cosignedKey(tree: string): string {
  return `cosigned/${tree}`;
}

/** A full tile of a tree: 256 hashes of one level, as C2SP tlog-tiles numbers them. */
export function tileKey(tree: string, level: number, index: number): string {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, "0");
  // `padded` has at least three digits: `padStart` adds up to a multiple of three, and a number has a digit.
  const parts = padded.match(/.{3}/g)!;
  const path = parts.map((part, i) => (i < parts.length - 1 ? `x${part}` : part)).join("/");
  return `tile/${tree}/${level}/${path}`;
}

/** Where a file of segments belongs, and what its segments were taken from. */
export interface FilePlace {
  readonly tenant: string;
  /** `2026-11-21`, UTC. */
  readonly day: string;
  readonly stream: string;
  readonly first: StreamSeq;
  readonly last: StreamSeq;
}

interface DataFileName extends FilePlace {
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
}

export function dataKey({ tenant, day, stream, first, last, sha256 }: DataFileName): string {
  return `data/tenant=${tenant}/dt=${day}/${stream}-${first}-${last}-${sha256.slice(0, 12)}.parquet`;
}

const DATA_KEY =
  /^data\/tenant=([^/]+)\/dt=(\d{4}-\d{2}-\d{2})\/([A-Z0-9_]+)-(\d+)-(\d+)-([0-9a-f]{12})\.parquet$/;

/** Parses the key of a file, without its whole hash; undefined for a key that `dataKey` has not made. */
export function parseDataKey(key: string): FilePlace | undefined {
  const [, tenant, day, stream, first, last] = DATA_KEY.exec(key) ?? [];
  if (tenant === undefined || day === undefined || stream === undefined) return undefined;
  return { tenant, day, stream, first: asStreamSeq(Number(first)), last: asStreamSeq(Number(last)) };
}
