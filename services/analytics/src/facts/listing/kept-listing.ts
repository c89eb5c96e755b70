import { hash } from "node:crypto";
import type { BlobInfo, BlobStore, ByteRange } from "@reprise/archive";
import { Semaphore } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import type { StoredFile } from "@reprise/facts/tables";
import { commitPrefix, parseCommitKey, tableNameOf } from "../parquet-commit.ts";
import type { TableName } from "../fact-tables.ts";
import { parseMergedKey } from "../merging/merged-file.ts";
import { parseSuperseded } from "../superseded.ts";
import { type StreamFiles, StreamListing } from "./stream-listing.ts";

interface Kept {
  listing: StreamListing;
  /** Commits are made here alone: it is as the store is. */
  isOwn: boolean;
  /** When all of it was listed. */
  wholeMs: number;
}

/** Objects that others delete stay in a listing for so long: they are in merged files by then. */
const WHOLE_MS = 600_000;
/** For a commit that seems to be missing all is listed again, but not at each question. */
const MISSING_MS = 5_000;
const ROOTS = ["superseded/", "merged/", "generations/", "deliveries/"] as const;

/**
 * The store, with the names of its rows' objects in memory. This process's own writes are added at once; commits of other processes are found by asking for the
 * ones after the newest known, and all else by listing the whole
 * stream now and then.
 *
 * A commit that was there stays there, alone or in a merged file. So a listing without it is discarded.
 */
export class KeptListing implements BlobStore {
  readonly #store: BlobStore;
  readonly #streams: readonly string[] | undefined;
  readonly #gate = new Semaphore(1);
  readonly #kept = new Map<string, Kept>();
  /** Changes by this process while a listing is under way; undefined while none is. */
  #changes: ((listing: StreamListing, stream: string) => void)[] | undefined;

  /** @param streams those that may have objects; without them nothing is kept, and each call lists all */
  constructor(store: BlobStore, streams?: readonly string[]) {
    this.#store = store;
    this.#streams = streams;
  }

  get(key: string, range?: ByteRange): Promise<Uint8Array | undefined> {
    return this.#store.get(key, range);
  }

  list(prefix: string, after?: string): AsyncIterable<BlobInfo> {
    return this.#store.list(prefix, after);
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#store.put(key, bytes);
    this.#added({ key, bytes: bytes.length });
  }

  async create(key: string, bytes: Uint8Array): Promise<"created" | "exists"> {
    const outcome = await this.#store.create(key, bytes);
    if (outcome === "created") this.#added({ key, bytes: bytes.length });
    return outcome;
  }

  async delete(key: string): Promise<void> {
    await this.#store.delete(key);
    this.#change(key, (listing) => listing.remove(key));
  }

  /** Another process may commit to the stream from now on. */
  ended(stream: string): void {
    const kept = this.#kept.get(stream);
    if (kept) kept.isOwn = false;
  }

  /** The store is a copy of an earlier time, and that is known: what was there before need not be there. */
  goBack(): void {
    this.#kept.clear();
  }

  /** One stream's objects. @param options.isWhole lists all of them. @throws RepriseError `archive_unavailable` */
  stream(stream: string, { isWhole = false }: { readonly isWhole?: boolean } = {}): Promise<StreamListing> {
    return this.#gate.run(async () => {
      await this.#refresh(stream, isWhole);
      return this.#kept.get(stream)?.listing ?? new StreamListing(stream);
    });
  }

  /**
   * The objects with rows of all streams.
   * @param options.isWhole lists all of them
   * @throws RepriseError `archive_unavailable`; `archive_corrupt` where a commit is missing
   */
  files({ isWhole = false }: { readonly isWhole?: boolean } = {}): Promise<ReadonlyMap<string, StreamFiles>> {
    return this.#gate.run(async () => {
      const streams = this.#streams ?? (await this.#findStreams());
      const files = new Map<string, StreamFiles>();
      for (const stream of streams) {
        await this.#refresh(stream, isWhole);
        files.set(stream, await this.#wholeFiles(stream));
      }
      return files;
    });
  }

  async #wholeFiles(stream: string): Promise<StreamFiles> {
    const kept = this.#kept.get(stream);
    const files = kept?.listing.files();
    if (!kept || !files) return { merged: [], commits: [], missing: undefined };
    if (files.missing === undefined) return files;
    if (performance.now() - kept.wholeMs >= MISSING_MS) await this.#refresh(stream, true);
    const { listing } = this.#kept.get(stream) ?? kept;
    const again = listing.files();
    if (again.missing === undefined) return again;
    throw new RepriseError(
      "archive_corrupt",
      `${listing.keyOf(again.missing)} is missing in the store of analytics.`,
    );
  }

  async #findStreams(): Promise<readonly string[]> {
    const streams = new Set<string>();
    for (const root of ROOTS)
      for await (const { key } of this.#store.list(root)) {
        const stream = streamOf(key);
        if (stream !== undefined) streams.add(stream);
      }
    return [...streams];
  }

  async #refresh(stream: string, isWhole: boolean): Promise<void> {
    const nowMs = performance.now();
    const kept = this.#streams ? this.#kept.get(stream) : undefined;
    const isRecent = kept !== undefined && !isWhole && nowMs - kept.wholeMs < WHOLE_MS;
    if (isRecent && kept.isOwn) return;
    if (isRecent) return this.#listBehind(stream, kept);
    const listing = new StreamListing(stream);
    await this.#while(stream, listing, async () => {
      await this.#listMerged(stream, listing);
      for await (const info of this.#store.list(commitPrefix(stream))) listing.add(info);
    });
    const newest = kept?.listing.newest ?? -1;
    if (listing.newest < newest)
      throw new RepriseError(
        "archive_corrupt",
        `${listing.keyOf(newest)} is missing in the store of analytics.`,
      );
    this.#kept.set(stream, { listing, isOwn: kept?.isOwn ?? false, wholeMs: nowMs });
  }

  async #listBehind(stream: string, kept: Kept): Promise<void> {
    const { listing } = kept;
    const others = new StreamListing(stream);
    await this.#while(stream, others, async () => {
      await this.#listMerged(stream, others);
      for await (const info of this.#store.list(commitPrefix(stream), listing.keyOf(listing.newest)))
        others.add(info);
    });
    kept.listing.replaceMerged(others);
  }

  /** Before commits: one that is gone by then is in a merged file that was there before it went. */
  async #listMerged(stream: string, listing: StreamListing): Promise<void> {
    for await (const info of this.#store.list(`superseded/${stream}/`)) listing.add(info);
    for await (const info of this.#store.list(`merged/${stream}/`)) listing.add(info);
  }

  /** Runs a listing. A change during a listing may be in it or not: it is applied again afterwards. */
  async #while(stream: string, listing: StreamListing, list: () => Promise<void>): Promise<void> {
    this.#changes = [];
    try {
      await list();
      for (const change of this.#changes) change(listing, stream);
    } finally {
      this.#changes = undefined;
    }
  }

  #added(info: BlobInfo): void {
    this.#change(info.key, (listing) => listing.add(info));
    const commit = parseCommitKey(info.key);
    const kept = commit && this.#kept.get(commit.stream);
    // One process at a time commits to a stream, and this one knows of all commits before its own.
    if (kept && kept.listing.newest === commit.n) kept.isOwn = true;
  }

  #change(key: string, change: (listing: StreamListing) => void): void {
    const stream = streamOf(key);
    if (stream === undefined) return;
    this.#changes?.push((listing, listed) => {
      if (listed === stream) change(listing);
    });
    const kept = this.#kept.get(stream);
    if (kept) change(kept.listing);
  }
}

function streamOf(key: string): string | undefined {
  return (parseCommitKey(key) ?? parseMergedKey(key) ?? parseSuperseded(key))?.stream;
}

/** Returns the files that have rows of a table, of all lanes: merged files, and the later commits that were not superseded. */
export function rowFilesOf(files: ReadonlyMap<string, StreamFiles>, table: TableName): readonly BlobInfo[] {
  return [...files].flatMap(([stream, { merged, commits }]) =>
    tableNameOf(stream) === table ? [...merged, ...commits] : [],
  );
}

/** Describes a stored file. A file that is rewritten under its key usually has another size, and then another name in a cache. */
export function toStoredFile({ key, bytes }: BlobInfo): StoredFile {
  return { key, bytes, sha256: hash("sha256", `${key} ${bytes}`) };
}

/** All of a table, listed now. @throws RepriseError `archive_unavailable`, `archive_corrupt` */
export async function listRowFiles(store: BlobStore, table: TableName): Promise<readonly StoredFile[]> {
  return rowFilesOf(await listingOf(store).files(), table).map(toStoredFile);
}

/** That of a store which keeps one. */
export function listingOf(store: BlobStore): KeptListing {
  return store instanceof KeptListing ? store : new KeptListing(store);
}
