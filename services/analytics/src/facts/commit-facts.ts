import { hash } from "node:crypto";
import type { BlobStore } from "@reprise/archive";
import type { LaneHistory, LanePosition, LaneStart } from "@reprise/facts/lane";
import type { EncodedFold, GenerationRow } from "@reprise/facts";
import { RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";
import {
  type BaseName,
  type Commit,
  COMMITS_PER_BASE,
  commitKeyOf,
  commitPrefix,
  decodeBase,
  decodeCommit,
  encodeBase,
  encodeCommit,
  parseCommitKey,
} from "./parquet-commit.ts";
import type { FactTable } from "./fact-tables.ts";
import { holds, listSuperseded, supersededKey } from "./superseded.ts";

/** Open folds, by their subjects. */
export type OpenFolds<Fold = EncodedFold> = ReadonlyMap<string, Fold>;

/** The content of a commit apart from its number and base. */
export interface CommitDraft<Row = GenerationRow, Fold = EncodedFold> {
  readonly lane: LanePosition;
  /** Rows of the generations that ended in the batch. */
  readonly rows: readonly Row[];
  /** Open folds that have changed, by the subjects of their logs. */
  readonly changed: readonly (readonly [subject: string, Fold])[];
  /** Subjects of the folds that are closed. */
  readonly closed: readonly string[];
}

/**
 * One stream's commits, for the process that consumes the stream: `last` first, then `restore`, then `commit` until one fails. A commit is there whole or not
 * at all:
 * its rows, the folds that are open after it, and its place.
 *
 * All methods throw RepriseError `archive_unavailable` when the store can't be reached, and `archive_corrupt` when it has lost objects.
 */
export interface LaneFacts<Row = GenerationRow, Fold = EncodedFold> extends LaneHistory {
  /** Place of the last commit, which the next one follows. */
  readonly position: LanePosition | undefined;
  /** Returns the place of the newest commit, which the next one follows. */
  last(): Promise<LanePosition | undefined>;
  /**
   * Commits that count and at which folds can be restored, newest first, of whichever epoch: what an earlier epoch has read of the stream is in it as long as no later one has
   * lost it.
   */
  all(): AsyncIterable<LanePosition>;
  /**
   * Returns the folds that were open at the start of the lane. Later commits are superseded with the next commit at the latest, if the stream has lost their
   * messages.
   */
  restore(start: LaneStart): Promise<OpenFolds<Fold>>;
  /**
   * @param folds all that are open after this commit
   * @returns `fenced` when another process has made this commit
   */
  commit(
    draft: CommitDraft<Row, Fold>,
    folds: () => Iterable<readonly [string, Fold]>,
  ): Promise<"committed" | "fenced">;
}

const NAME_CHARS = 16;
const FIRST_BYTE = { offset: 0, length: 1 };

/** One stream's commits as objects of a store. */
export class ObjectLaneFacts<Row = GenerationRow, Fold = EncodedFold> implements LaneFacts<Row, Fold> {
  readonly #store: BlobStore;
  readonly #table: FactTable<Row>;
  readonly #stream: string;
  #last: Commit<Fold> | undefined;
  /** True if the next commit continues none of those before it, or not the last: it writes all open folds. */
  #startsAnew = false;

  constructor(store: BlobStore, table: FactTable<Row>, stream: string) {
    this.#store = store;
    this.#table = table;
    this.#stream = stream;
  }

  get position(): LanePosition | undefined {
    return this.#last?.lane;
  }

  async last(): Promise<LanePosition | undefined> {
    let newest = -1;
    for await (const { key } of this.#store.list(commitPrefix(this.#stream)))
      newest = Math.max(newest, parseCommitKey(key)?.n ?? -1);
    this.#last = newest < 0 ? undefined : await this.#read(newest);
    return this.#last?.lane;
  }

  async *all(): AsyncIterable<LanePosition> {
    const last = this.#last;
    if (!last) return;
    for await (const { lane } of this.#counting(last)) {
      if (lane.created !== last.lane.created) return;
      yield { ...lane, epoch: last.lane.epoch };
    }
  }

  async restore({ epoch, created, after }: LaneStart): Promise<OpenFolds<Fold>> {
    const last = this.#last;
    this.#startsAnew = last !== undefined && last.lane.epoch !== epoch;
    if (!last) return new Map();
    if (!this.#startsAnew) return this.#foldsAt(last.n);
    // A stream that was created again has none of the old messages, so no fold of it is open.
    if (last.lane.created !== created) return new Map();
    const { kept, isPlace } = await this.#keptUpTo(last, after);
    if (kept < last.n)
      await this.#store.put(supersededKey(this.#stream, { first: kept + 1, last: last.n }), new Uint8Array());
    return isPlace ? this.#foldsAt(kept) : new Map();
  }

  async commit(
    { rows, ...draft }: CommitDraft<Row, Fold>,
    folds: () => Iterable<readonly [string, Fold]>,
  ): Promise<"committed" | "fenced"> {
    const n = (this.#last?.n ?? -1) + 1;
    if (this.#last) await this.#assertThere(this.#last.n);
    const isWhole = this.#startsAnew || n % COMMITS_PER_BASE === 0;
    const base = isWhole ? await this.#putBase(n, folds()) : this.#last?.base;
    const commit: Commit<Fold> = { n, base, ...draft };
    const outcome = await this.#store.create(
      commitKeyOf(this.#stream, n),
      await encodeCommit(this.#table, commit, rows),
    );
    if (outcome === "exists") return "fenced";
    this.#last = { ...commit, changed: [], closed: [] };
    this.#startsAnew = false;
    return "committed";
  }

  /** Named after what is in it: a process that is fenced meanwhile replaces no other's. */
  async #putBase(n: number, folds: Iterable<readonly [string, Fold]>): Promise<BaseName> {
    const bytes = await encodeBase(folds);
    const name = hash("sha256", bytes).slice(0, NAME_CHARS);
    const key = `bases/${this.#stream}/${n}-${name}`;
    await this.#store.put(key, bytes);
    return { n, key };
  }

  /**
   * @returns the newest commit that counts and ends at a place; without one, the newest of an earlier stream of this name, or the last of those that are deleted, or -1
   */
  async #keptUpTo(newest: Commit<Fold>, after: StreamSeq): Promise<{ kept: number; isPlace: boolean }> {
    for await (const { n, lane } of this.#counting(newest)) {
      if (lane.created !== newest.lane.created) return { kept: n, isPlace: false };
      if (after !== STREAM_START && lane.last === after) return { kept: n, isPlace: true };
    }
    return { kept: (await this.#oldest()) - 1, isPlace: false };
  }

  /** Commits that are there and not superseded, newest first. */
  async *#counting(newest: Commit<Fold>): AsyncGenerator<Commit<Fold>> {
    const oldest = await this.#oldest();
    const superseded = await listSuperseded(this.#store, this.#stream);
    for (let n = newest.n; n >= oldest; n--)
      if (!superseded.some((range) => holds(range, n))) yield await this.#read(n);
  }

  /** The first commit of the oldest block of which none was deleted: before it nothing is superseded any more, as nothing of it is in the stream. */
  async #oldest(): Promise<number> {
    for await (const { key } of this.#store.list(commitPrefix(this.#stream))) {
      const n = parseCommitKey(key)?.n;
      if (n !== undefined) return Math.ceil(n / COMMITS_PER_BASE) * COMMITS_PER_BASE;
    }
    return 0;
  }

  async #foldsAt(n: number): Promise<OpenFolds<Fold>> {
    const folds = new Map<string, Fold>();
    if (n < 0) return folds;
    const { base } = await this.#read(n);
    if (base) {
      const bytes = await this.#store.get(base.key);
      if (!bytes) throw new RepriseError("archive_corrupt", `${base.key} is missing.`);
      for (const [subject, fold] of decodeBase(bytes, base.key)) folds.set(subject, fold as Fold);
    }
    for (let at = base ? base.n + 1 : 0; at <= n; at++) {
      const { changed, closed } = await this.#read(at);
      for (const [subject, fold] of changed) folds.set(subject, fold);
      for (const subject of closed) folds.delete(subject);
    }
    return folds;
  }

  /** Checks that a commit exists: after a missing commit the later ones would count, but the lane could not continue from them. */
  async #assertThere(n: number): Promise<void> {
    const key = commitKeyOf(this.#stream, n);
    if (await this.#store.get(key, FIRST_BYTE)) return;
    const message = `${key} is missing; the lane begins again after the last commit that the store has.`;
    throw new RepriseError("archive_corrupt", message);
  }

  async #read(n: number): Promise<Commit<Fold>> {
    const key = commitKeyOf(this.#stream, n);
    const bytes = await this.#store.get(key);
    if (!bytes) throw new RepriseError("archive_corrupt", `${key} is missing.`);
    return decodeCommit<Fold>(bytes, key);
  }
}
