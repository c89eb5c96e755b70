import type { BlobStore } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { readParquetRows } from "@reprise/facts/tables";
import { COMMITS_PER_BASE, commitKeyOf, decodeCommit } from "../parquet-commit.ts";
import { decodeMerged, encodeMerged, mergedKey } from "./merged-file.ts";
import type { FactTable } from "../fact-tables.ts";
import { type KeptListing, listingOf } from "../listing/kept-listing.ts";
import type { StreamListing } from "../listing/stream-listing.ts";
import { type CommitRange, holds, listSuperseded, overlaps } from "../superseded.ts";

export interface TidyOptions {
  /** Nothing in the stream is older: microseconds since 1970, by the broker's clock. Undefined where nothing expires. */
  readonly expiredBeforeUs: number | undefined;
  /** Asked between two steps: ends the round. */
  readonly isOver?: () => boolean;
}

export interface TidierOptions<Row> {
  /** Options of the tidier. A `KeptListing` is listed from memory, any other store is listed for each step. */
  readonly store: BlobStore;
  readonly table: FactTable<Row>;
  readonly stream: string;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** Files whose commits are deleted are merged again, 64 times as many commits each, while they have no more than this together. */
const MOST_BYTES = 16 * 1_024 * 1_024;
const LEVELS = 4;
/** For how long what is in another file stays for readers that have listed it. */
const GRACE_MS = 600_000;

/**
 * Merges a stream's commits: those before the newest base into files of 64. Commits stay while a lane could continue from one of them: until all their messages
 * must have left
 * the stream. Then they are deleted with their bases, and merged files without commits are merged again. A merged file is created whole or not at all, and
 * holds the same rows as its commits: a query
 * reads one or the other. Any number of processes may do this at the same time, and may die anywhere.
 */
export class CommitTidier<Row> {
  readonly #store: BlobStore;
  readonly #listing: KeptListing;
  readonly #table: FactTable<Row>;
  readonly #stream: string;
  readonly #now: () => number;
  /** When objects were first seen to be in others, by their keys. */
  readonly #replacedMs = new Map<string, number>();
  /** When the newest message was stored that a block's last commit is made of: of the block that is deleted next. */
  #oldest: { readonly key: string; readonly lastAtUs: number } | undefined;

  constructor({ store, table, stream, now = () => performance.now() }: TidierOptions<Row>) {
    this.#store = store;
    this.#listing = listingOf(store);
    this.#table = table;
    this.#stream = stream;
    this.#now = now;
  }

  /**
   * One round.
   * @returns how many files it has merged into others
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async tidy({ expiredBeforeUs, isOver = () => false }: TidyOptions): Promise<number> {
    const present = (await this.#list()).present();
    const [oldest = 0, newest = 0] = [present.at(0), present.at(-1)];
    // After the newest base, every commit is needed to continue.
    const end = blockOf(newest).first;
    let merged = await this.#mergeCommits(new Set(present), { first: oldest, last: end - 1 }, isOver);
    for (let level = 2; level <= LEVELS; level++)
      merged += await this.#mergeFiles(COMMITS_PER_BASE ** level, blockOf(oldest).first, isOver);
    await this.#deleteReplaced();
    if (expiredBeforeUs !== undefined)
      await this.#deleteExpired({ first: oldest, last: end - 1 }, { expiredBeforeUs, isOver });
    return merged;
  }

  async #mergeCommits(present: ReadonlySet<number>, { first, last }: CommitRange, isOver: () => boolean) {
    const { merged } = (await this.#list()).files();
    let count = 0;
    for (const block of blocksBetween(first, last)) {
      if (isOver()) return count;
      if (merged.some((file) => contains(file, block))) continue;
      const commits = Array.from({ length: COMMITS_PER_BASE }, (_, i) => block.first + i);
      if (!commits.every((n) => present.has(n))) continue;
      count += await this.#create(block, async (superseded) => {
        const counting = commits.filter((n) => !superseded.some((range) => holds(range, n)));
        const rows = new Map<number, readonly Row[]>();
        for (const n of counting)
          rows.set(
            n,
            (await readParquetRows(await this.#get(commitKeyOf(this.#stream, n)))).map(this.#table.toRow),
          );
        return rows;
      });
    }
    return count;
  }

  /** @param size of the files that are made, in commits. @param end the commits before it are deleted: none of them can be superseded any more */
  async #mergeFiles(size: number, end: number, isOver: () => boolean): Promise<number> {
    if (end < size) return 0;
    const { merged } = (await this.#list()).files();
    let count = 0;
    for (let first = 0; first + size <= end; first += size) {
      if (isOver()) return count;
      const range = { first, last: first + size - 1 };
      const parts = merged.filter((file) => contains(range, file)).toSorted((a, b) => a.first - b.first);
      const covered = parts.reduce((sum, part) => sum + part.last - part.first + 1, 0);
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      if (parts.length < 2 || covered < size || bytes > MOST_BYTES) continue;
      count += await this.#create(range, async () => {
        const rows = new Map<number, readonly Row[]>();
        for (const { key } of parts)
          for (const [n, list] of await decodeMerged(this.#table, await this.#get(key), key))
            rows.set(n, list);
        return rows;
      });
    }
    return count;
  }

  async #create(
    range: CommitRange,
    read: (superseded: readonly CommitRange[]) => Promise<ReadonlyMap<number, readonly Row[]>>,
  ): Promise<number> {
    // Before anything is read: a range that comes later makes this file one that does not count.
    const superseded = (await listSuperseded(this.#store, this.#stream)).filter((one) =>
      overlaps(one, range),
    );
    const name = { stream: this.#stream, ...range, superseded: superseded.length, version: 0 };
    await this.#store.create(mergedKey(name), await encodeMerged(this.#table, await read(superseded)));
    return 1;
  }

  /** Merged files that count no longer. */
  async #deleteReplaced(): Promise<void> {
    const over = (listing: StreamListing) => {
      const counting = new Set(listing.files().merged.map(({ key }) => key));
      return listing.allMerged().filter(({ key }) => !counting.has(key) && this.#isGraceOver(key));
    };
    if (over(await this.#list()).length === 0) return;
    // What is deleted is in what is there now, not in what was listed some time ago.
    for (const { key } of over(await this.#listing.stream(this.#stream, { isWhole: true })))
      await this.#store.delete(key);
  }

  /** Deletes commits, block by block, the oldest first, and bases that no lane can continue from any more. */
  async #deleteExpired(
    { first, last }: CommitRange,
    { expiredBeforeUs, isOver = () => false }: TidyOptions & { expiredBeforeUs: number },
  ): Promise<void> {
    const { merged } = (await this.#list()).files();
    const blocks = [...blocksBetween(first, last)].filter((block) => {
      const isMerged = merged.some((file) => contains(file, block));
      return isMerged && this.#isGraceOver(commitKeyOf(this.#stream, block.last));
    });
    let next = blockOf(first).first;
    for (const block of blocks) {
      const key = commitKeyOf(this.#stream, block.last);
      // In their order: what is there must have no hole.
      if (isOver() || block.first !== next) return;
      next = block.last + 1;
      if (this.#oldest?.key !== key)
        this.#oldest = { key, lastAtUs: decodeCommit(await this.#get(key), key).lane.last_at };
      if (this.#oldest.lastAtUs >= expiredBeforeUs) return;
      if (!(await this.#isStillMerged(block))) return;
      // The last one goes last: it says when, should this be interrupted.
      for (let n = block.first; n <= block.last; n++) await this.#store.delete(commitKeyOf(this.#stream, n));
      for await (const { key: base } of this.#store.list(`bases/${this.#stream}/`))
        if (Number(/\/([0-9]+)-[0-9a-f]+$/.exec(base)?.[1] ?? Number.NaN) <= block.last)
          await this.#store.delete(base);
    }
  }

  #list(): Promise<StreamListing> {
    return this.#listing.stream(this.#stream);
  }

  async #isStillMerged(block: CommitRange): Promise<boolean> {
    const { merged } = (await this.#listing.stream(this.#stream, { isWhole: true })).files();
    return merged.some((file) => contains(file, block));
  }

  async #get(key: string): Promise<Uint8Array> {
    const bytes = await this.#store.get(key);
    if (!bytes)
      throw new RepriseError("archive_unavailable", `${key} is not there: another process has merged it.`);
    return bytes;
  }

  #isGraceOver(key: string): boolean {
    const since = this.#replacedMs.get(key);
    if (since === undefined) this.#replacedMs.set(key, this.#now());
    return since !== undefined && this.#now() - since >= GRACE_MS;
  }
}

/** The commits that are merged with this one. */
function blockOf(n: number): CommitRange {
  const first = Math.floor(n / COMMITS_PER_BASE) * COMMITS_PER_BASE;
  return { first, last: first + COMMITS_PER_BASE - 1 };
}

function* blocksBetween(first: number, last: number): Generator<CommitRange> {
  for (let block = blockOf(first); block.last <= last; block = blockOf(block.last + 1)) yield block;
}

function contains(range: CommitRange, { first, last }: CommitRange): boolean {
  return holds(range, first) && holds(range, last);
}
