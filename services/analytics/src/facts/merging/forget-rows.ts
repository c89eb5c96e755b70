import type { BlobStore } from "@reprise/archive";
import type { EncodedFold, GenerationRow } from "@reprise/facts";
import { type GenerationRef, logSubject } from "@reprise/protocol";
import { readParquetRows } from "@reprise/facts/tables";
import {
  type Commit,
  commitKeyOf,
  decodeCommit,
  encodeCommit,
  parseCommitKey,
  decodeBase,
  encodeBase,
} from "../parquet-commit.ts";
import { GENERATIONS } from "../fact-tables.ts";
import { holds } from "../superseded.ts";
import { decodeMerged, encodeMerged, mergedKey, parseMergedKey } from "./merged-file.ts";

export interface ForgetOptions {
  readonly store: BlobStore;
  readonly stream: string;
  readonly refs: readonly GenerationRef[];
  /** Keys of objects that hold valid rows of the generations. */
  readonly keys: readonly string[];
}

/**
 * Takes the metadata of generations out of their rows, and out of the folds that they were: the only text of a client in either. Numbers and ids stay. Commits are replaced where they are,
 * merged files by their next version, which counts from then on; the one before is deleted at once. Interrupted anywhere, the same call finds what is left.
 * @returns how many rows it has changed
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function forgetRows({ store, stream, refs, keys }: ForgetOptions): Promise<number> {
  const forgetting = new Forgetting(store, stream, refs);
  let rows = 0;
  for (const key of keys) {
    const commit = parseCommitKey(key);
    if (commit?.stream === stream) rows += await forgetting.inCommits(commit.n);
    if (parseMergedKey(key)?.stream === stream) rows += await forgetting.inMerged(key);
  }
  return rows;
}

class Forgetting {
  readonly #store: BlobStore;
  readonly #stream: string;
  readonly #names: ReadonlySet<string>;
  readonly #subjects: ReadonlySet<string>;

  constructor(store: BlobStore, stream: string, refs: readonly GenerationRef[]) {
    this.#store = store;
    this.#stream = stream;
    this.#names = new Set(refs.map(nameOf));
    this.#subjects = new Set(refs.map(logSubject));
  }

  async inMerged(key: string): Promise<number> {
    const name = parseMergedKey(key);
    const bytes = await this.#store.get(key);
    if (!name || !bytes) return 0;
    const rows = await decodeMerged(GENERATIONS, bytes, key);
    const affected = [...rows].filter(([, list]) => list.some((row) => this.#isMeant(row))).map(([n]) => n);
    if (affected.length === 0) return 0;
    // Before the file itself, which is how all of them are found.
    for (const n of affected) await this.inCommits(n);
    const without = new Map([...rows].map(([n, list]) => [n, list.map((row) => this.#without(row))]));
    const next = { ...name, version: name.version + 1 };
    await this.#store.put(mergedKey(next), await encodeMerged(GENERATIONS, without));
    for await (const { key: other } of this.#store.list(`merged/${this.#stream}/`)) {
      const before = parseMergedKey(other);
      const isInNext = before && holds(next, before.first) && holds(next, before.last);
      const isOlder =
        before && (before.first !== next.first || before.last !== next.last || before.version < next.version);
      if (isInNext && isOlder) await this.#store.delete(other);
    }
    return [...rows.values()].flat().filter((row) => this.#isMeant(row)).length;
  }

  /** In the commits before, which have the folds, and then in the one that has the rows, by which they are found. */
  async inCommits(last: number): Promise<number> {
    const key = commitKeyOf(this.#stream, last);
    const bytes = await this.#store.get(key);
    if (!bytes) return 0;
    const rows = (await readParquetRows(bytes)).map(GENERATIONS.toRow);
    const meant = rows.filter((row) => this.#isMeant(row));
    const begunUs = Math.min(...meant.map(({ created_us: createdUs }) => createdUs));
    let commit = decodeCommit(bytes, key);
    if (commit.base?.n === last) await this.#inBase(commit.base.key);
    for (let n = last - 1; n >= 0 && commit.lane.last_at >= begunUs; n--) {
      const before = await this.#inCommit(n);
      if (!before) break;
      commit = before;
    }
    await this.#put(
      key,
      decodeCommit(bytes, key),
      rows.map((row) => this.#without(row)),
    );
    return meant.length;
  }

  /** @returns the commit as it was; undefined where it is not there */
  async #inCommit(n: number): Promise<Commit | undefined> {
    const key = commitKeyOf(this.#stream, n);
    const bytes = await this.#store.get(key);
    if (!bytes) return undefined;
    const commit = decodeCommit(bytes, key);
    if (commit.base?.n === n) await this.#inBase(commit.base.key);
    // Its rows stay until their own turn: they are how their folds are found.
    if (commit.changed.some(([subject]) => this.#subjects.has(subject)))
      await this.#put(key, commit, (await readParquetRows(bytes)).map(GENERATIONS.toRow));
    return commit;
  }

  /** The folds of a commit are without it then, and its rows as they are given. */
  async #put(key: string, commit: Commit, rows: readonly GenerationRow[]): Promise<void> {
    const changed = commit.changed.map((fold) => this.#withoutFold(fold));
    await this.#store.put(key, await encodeCommit(GENERATIONS, { ...commit, changed }, rows));
  }

  async #inBase(key: string): Promise<void> {
    const bytes = await this.#store.get(key);
    const folds = bytes ? (decodeBase(bytes, key) as (readonly [string, EncodedFold])[]) : [];
    if (folds.some(([subject]) => this.#subjects.has(subject)))
      await this.#store.put(key, await encodeBase(folds.map((fold) => this.#withoutFold(fold))));
  }

  #isMeant(row: GenerationRow): boolean {
    return this.#names.has(nameOf(row));
  }

  #without(row: GenerationRow): GenerationRow {
    return this.#isMeant(row) ? { ...row, metadata: {} } : row;
  }

  #withoutFold([subject, fold]: readonly [string, EncodedFold]): readonly [string, EncodedFold] {
    const without = { ...fold, state: { ...fold.state, metadata: {} } };
    return [subject, this.#subjects.has(subject) ? without : fold];
  }
}

function nameOf({ tenant, generation }: { tenant: string; generation: string }): string {
  return `${tenant} ${generation}`;
}
