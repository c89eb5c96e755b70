import type { BlobInfo } from "@reprise/archive";
import { commitKeyOf, parseCommitKey } from "../parquet-commit.ts";
import { countingMerged, type MergedFile, parseMergedKey } from "../merging/merged-file.ts";
import { type CommitRange, parseSuperseded } from "../superseded.ts";

export type CommitFile = BlobInfo & { readonly n: number };

/** One stream's objects with rows that count: each commit is in one of them. */
export interface StreamFiles {
  readonly merged: readonly MergedFile[];
  readonly commits: readonly CommitFile[];
  /** The first commit that is in no file, though a later one is: undefined where all are there. */
  readonly missing: number | undefined;
}

/** The names of one stream's objects, as they were listed and as this process has changed them since. */
export class StreamListing {
  readonly #stream: string;
  readonly #superseded = new Map<string, CommitRange>();
  readonly #merged = new Map<string, MergedFile>();
  readonly #commits = new Map<number, CommitFile>();
  #newest = -1;
  #files: StreamFiles | undefined;

  constructor(stream: string) {
    this.#stream = stream;
  }

  /** The highest number of a commit that was ever listed; -1 for none. */
  get newest(): number {
    return this.#newest;
  }

  /** All that are there, in their order, superseded ones and those that are in merged files too. */
  present(): readonly number[] {
    return [...this.#commits.keys()].toSorted((a, b) => a - b);
  }

  /** All that are there: those that count no longer too. */
  allMerged(): readonly MergedFile[] {
    return [...this.#merged.values()];
  }

  /** Keys of another kind change nothing. */
  add(info: BlobInfo): void {
    const commit = parseCommitKey(info.key);
    const merged = parseMergedKey(info.key);
    const superseded = parseSuperseded(info.key);
    if (commit) {
      this.#commits.set(commit.n, { ...info, n: commit.n });
      this.#newest = Math.max(this.#newest, commit.n);
    }
    if (merged) {
      this.#merged.set(info.key, { ...info, ...merged });
      this.#newest = Math.max(this.#newest, merged.last);
    }
    if (superseded) this.#superseded.set(info.key, superseded);
    this.#files = undefined;
  }

  remove(key: string): void {
    const commit = parseCommitKey(key);
    if (commit) this.#commits.delete(commit.n);
    this.#merged.delete(key);
    this.#superseded.delete(key);
    this.#files = undefined;
  }

  /** Takes what is no commit from a newer listing, and adds the commits of it. */
  replaceMerged(newer: StreamListing): void {
    this.#merged.clear();
    this.#superseded.clear();
    for (const [key, file] of newer.#merged) this.#merged.set(key, file);
    for (const [key, range] of newer.#superseded) this.#superseded.set(key, range);
    for (const [n, commit] of newer.#commits) this.#commits.set(n, commit);
    this.#newest = Math.max(this.#newest, newer.#newest);
    this.#files = undefined;
  }

  files(): StreamFiles {
    this.#files ??= this.#toFiles();
    return this.#files;
  }

  keyOf(n: number): string {
    return commitKeyOf(this.#stream, n);
  }

  #toFiles(): StreamFiles {
    const superseded = [...this.#superseded.values()];
    const merged = countingMerged([...this.#merged.values()], superseded);
    const commits: CommitFile[] = [];
    let [n, missing] = [0, undefined as number | undefined];
    const takeBefore = (end: number) => {
      for (; n < end; n++) {
        const commit = this.#commits.get(n);
        if (commit) commits.push(commit);
        else missing ??= n;
      }
    };
    for (const { first, last } of [...superseded, ...merged].toSorted((a, b) => a.first - b.first)) {
      takeBefore(first);
      n = Math.max(n, last + 1);
    }
    takeBefore(this.#newest + 1);
    return { merged, commits, missing };
  }
}
