import type { BlobStore } from "@reprise/archive";
import type { LanePosition } from "@reprise/facts/lane";
import { type Commit, commitKeyOf, commitPrefix, decodeCommit, parseCommitKey } from "./parquet-commit.ts";

/** Interval of listings. Commits are deleted after they are merged and expired, so the successor of a known one may be gone: a listing finds the newer ones. */
const LIST_EVERY_MS = 600_000;

interface KnownCommit {
  readonly n: number;
  readonly lane: LanePosition;
  readonly listedMs: number;
}

/** The newest commits of streams, found by asking for the next one: a listing of a day's commits takes longer than all else. */
export class ObjectPlaces {
  readonly #store: BlobStore;
  readonly #known = new Map<string, KnownCommit>();

  constructor(store: BlobStore) {
    this.#store = store;
  }

  /** @throws RepriseError `archive_unavailable`, `archive_corrupt` */
  async newest(stream: string): Promise<LanePosition | undefined> {
    const before = this.#known.get(stream);
    const isRecent = before && performance.now() - before.listedMs < LIST_EVERY_MS;
    let known = isRecent ? before : await this.#list(stream);
    if (!known) return undefined;
    for (let next = await this.#read(stream, known.n + 1); next; next = await this.#read(stream, next.n + 1))
      known = { n: next.n, lane: next.lane, listedMs: known.listedMs };
    this.#known.set(stream, known);
    return known.lane;
  }

  async #list(stream: string): Promise<KnownCommit | undefined> {
    let n = -1;
    for await (const { key } of this.#store.list(commitPrefix(stream)))
      n = Math.max(n, parseCommitKey(key)?.n ?? -1);
    const commit = n < 0 ? undefined : await this.#read(stream, n);
    return commit && { n, lane: commit.lane, listedMs: performance.now() };
  }

  async #read(stream: string, n: number): Promise<Commit<unknown> | undefined> {
    const key = commitKeyOf(stream, n);
    const bytes = await this.#store.get(key);
    return bytes && decodeCommit<unknown>(bytes, key);
  }
}
