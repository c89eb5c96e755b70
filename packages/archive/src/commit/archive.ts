import { retryRejected } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { parseCheckpoint } from "../note/checkpoint.ts";
import type { NoteKey, VerifierKey } from "../note/note-key.ts";
import { parseNote } from "../note/signed-note.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { ArchiveState, type GrownTree } from "./archive-state.ts";
import { ARCHIVE_TREE, type Commit, followsLane } from "./commit.ts";
import { type Draft, signTree, toCommit } from "./draft.ts";
import {
  checkpointKey,
  commitKey,
  commitSubject,
  SNAPSHOT_KEY,
  snapshotSubject,
  tileKey,
} from "../store/paths.ts";
import { readCommits, type StoredCommit } from "./read-commits.ts";
import { isSignedJson, signJson } from "./signed-json.ts";

export type AppendOutcome =
  | { readonly kind: "committed"; readonly commit: Commit }
  /** Another writer has taken what the draft is about: its range of the lane, or a file that it removes. */
  | { readonly kind: "fenced" };

export interface ArchiveOptions {
  store: BlobStore;
  /** Name of the archive: origin of its checkpoints and name of its signing key. */
  name: string;
  /** Without one the archive is only read. */
  writer?: ArchiveWriter | undefined;
}

export interface ArchiveWriter {
  /** Name of this process, unique among all writers: a process recognizes its own commit by it. */
  readonly name: string;
  readonly signer: NoteKey;
  /** Keys that the archive was signed with before. An archive that none of the keys has signed is not continued. */
  readonly earlier?: readonly VerifierKey[] | undefined;
  /** Called with what is tried again, and what of the derived objects could not be written. */
  readonly onError: (error: unknown) => void;
}

/** Minimum number of commits between two snapshots. They also have at least as many bytes as the last snapshot. */
const SNAPSHOT_COMMITS = 64;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/**
 * An archive's commit log, and its state. Reads the snapshot and the commits after it when it is opened, and new commits at
 * `refresh`. Any number of processes may append: each commit has a number that only one of them gets.
 */
export class Archive {
  readonly store: BlobStore;
  readonly name: string;
  readonly #writer: ArchiveWriter | undefined;
  #state = new ArchiveState();
  #queue: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  #sinceSnapshot = { commits: 0, bytes: 0, lastBytes: 0 };

  constructor({ store, name, writer }: ArchiveOptions) {
    this.store = store;
    this.name = name;
    this.#writer = writer;
  }

  /** The state of the archive as far as this process has read. */
  get state(): ArchiveState {
    return this.#state;
  }

  /**
   * Begins with the snapshot. One that is missing or is none is no harm: all commits are read then.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async open(): Promise<void> {
    const snapshot = await this.store.get(SNAPSHOT_KEY);
    if (snapshot) {
      try {
        this.#state = this.#openSnapshot(snapshot);
        this.#sinceSnapshot.lastBytes = snapshot.length;
      } catch (error) {
        this.#writer?.onError(error);
      }
    }
    await this.refresh();
    const writer = this.#writer;
    if (writer) await this.#inTurn(() => this.#signEnd(writer));
  }

  /**
   * Takes in what others have committed.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  refresh(): Promise<Commit[]> {
    return this.#inTurn(() => this.#refresh());
  }

  /**
   * Makes one commit. While the store can't be reached, and while it is not clear what has become of the commit, it tries again.
   * @param make called for each try, with what has been committed by then; undefined gives up as fenced
   * @param signal ends the trying: what was tried may be committed
   * @throws RepriseError `archive_corrupt`; `archive_unavailable` when the archive is closed; the signal's reason; what `make` throws
   */
  append(
    make: (state: ArchiveState) => Draft | undefined | Promise<Draft | undefined>,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<AppendOutcome> {
    const closing = this.#closing.signal;
    const ends = signal ? AbortSignal.any([signal, closing]) : closing;
    return this.#inTurn(() => this.#append(make, ends));
  }

  /** Ends the trying of all commits, as their own signals would: for a process that ends while the store is away. */
  close(): void {
    this.#closing.abort(new RepriseError("archive_unavailable", "The archive was closed."));
  }

  /** All commits from a number on, with their bytes, as they are stored. */
  commits(from = 0): AsyncGenerator<StoredCommit> {
    return readCommits(this.store, from);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  async #refresh(): Promise<Commit[]> {
    const taken: Commit[] = [];
    const grown = new Map<string, GrownTree>();
    for await (const { commit, bytes } of this.commits(this.#state.next)) {
      this.#assertSigned(commit, bytes);
      for (const tree of this.#apply(commit, bytes)) grown.set(tree.name, tree);
      taken.push(commit);
    }
    await this.#writeTiles(grown.values());
    return taken;
  }

  async #append(
    make: (state: ArchiveState) => Draft | undefined | Promise<Draft | undefined>,
    signal: AbortSignal,
  ): Promise<AppendOutcome> {
    const writer = this.#writer;
    if (!writer) throw new TypeError("the archive was opened to be read");
    for (;;) {
      const draft = await make(this.#state);
      if (!draft || !this.#isOpen(draft)) return { kind: "fenced" };
      const commit = toCommit(draft, this.#state, { archive: this.name, ...writer });
      const bytes = Buffer.from(JSON.stringify(commit));
      const outcome = await this.#untilClear(() => this.store.create(commitKey(commit.n), bytes), signal);
      if (outcome === "exists") {
        await this.#untilClear(() => this.#refresh(), signal);
        continue;
      }
      await this.#writeTiles(this.#apply(commit, bytes));
      await this.#conclude(writer);
      return { kind: "committed", commit };
    }
  }

  /** A commit of the same bytes is ours, so trying again after an unclear answer makes it clear. */
  async #untilClear<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const isAway = (error: unknown) => {
      if (!(error instanceof RepriseError) || error.code !== "archive_unavailable") return false;
      this.#writer?.onError(error);
      return true;
    };
    return retryRejected(work, isAway, { pauseMs: FIRST_RETRY_MS, maxPauseMs: LAST_RETRY_MS, signal });
  }

  #isOpen({ lane, tenants }: Draft): boolean {
    const state = this.#state;
    const isThere = tenants.every(({ tenant, removes }) =>
      removes.every((key) => state.hasFile(tenant, key)),
    );
    return isThere && (!lane || followsLane(state.lanes.get(lane.stream), lane));
  }

  /** A writer signs what follows: unsigned commits of others must not become part of it. */
  #assertSigned({ n, signed }: Commit, bytes: Uint8Array): void {
    if (!this.#writer || isSignedJson(bytes, signed, commitSubject(this.name, n), this.#keys(this.#writer)))
      return;
    throw new RepriseError("archive_corrupt", `Commit ${n} is signed by no key of the archive.`);
  }

  /** @throws RepriseError `archive_corrupt`, SyntaxError */
  #openSnapshot(bytes: Uint8Array): ArchiveState {
    const json = JSON.parse(Buffer.from(bytes).toString()) as { signed?: string };
    const state = ArchiveState.of(json);
    const subject = snapshotSubject(this.name, state.next);
    if (!this.#writer || isSignedJson(bytes, json.signed ?? "", subject, this.#keys(this.#writer)))
      return state;
    throw new RepriseError("archive_corrupt", "The snapshot is signed by no key of the archive.");
  }

  #keys({ signer, earlier = [] }: ArchiveWriter): VerifierKey[] {
    return [signer, ...earlier];
  }

  #apply(commit: Commit, bytes: Uint8Array): GrownTree[] {
    const grown = this.#state.apply(commit, bytes);
    this.#sinceSnapshot.commits++;
    this.#sinceSnapshot.bytes += bytes.length;
    return [...grown, { name: ARCHIVE_TREE, tree: this.#state.archiveTree }];
  }

  /** Nothing depends on tiles: they follow from the commits. */
  async #writeTiles(grown: Iterable<GrownTree>): Promise<void> {
    for (const { name, tree } of grown) {
      for (const { level, index, bytes } of tree.takeFullTiles())
        if (this.#writer) await this.#put(tileKey(name, level, index), bytes, this.#writer);
    }
  }

  /** The writer of the last commit may have died before it was signed. */
  async #signEnd(writer: ArchiveWriter): Promise<void> {
    const size = this.#state.archiveTree.size;
    if (size === 0) return;
    const there = await this.store.get(checkpointKey(ARCHIVE_TREE));
    if (!there || sizeOf(there) < size) await this.#conclude(writer);
  }

  /** Signs what the archive has become, and keeps the way to it short. */
  async #conclude(writer: ArchiveWriter): Promise<void> {
    // Another writer may have committed, and signed, meanwhile: the last checkpoint has to be that of the last commit.
    do {
      const checkpoint = signTree(this.name, ARCHIVE_TREE, this.#state.archiveTree, writer.signer);
      await this.#put(checkpointKey(ARCHIVE_TREE), Buffer.from(checkpoint), writer);
    } while (await this.#hasGrown(writer));
    const since = this.#sinceSnapshot;
    if (since.commits < SNAPSHOT_COMMITS || since.bytes < since.lastBytes) return;
    const subject = snapshotSubject(this.name, this.#state.next);
    const json = signJson(this.#state.toJSON() as object, subject, writer.signer);
    const snapshot = Buffer.from(JSON.stringify(json));
    if (await this.#put(SNAPSHOT_KEY, snapshot, writer))
      this.#sinceSnapshot = { commits: 0, bytes: 0, lastBytes: snapshot.length };
  }

  async #hasGrown({ onError }: ArchiveWriter): Promise<boolean> {
    try {
      return (await this.#refresh()).length > 0;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  async #put(key: string, bytes: Uint8Array, { onError }: ArchiveWriter): Promise<boolean> {
    try {
      await this.store.put(key, bytes);
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }
}

/** @throws RepriseError `archive_unavailable`, `archive_corrupt` */
export async function openArchive(options: ArchiveOptions): Promise<Archive> {
  const archive = new Archive(options);
  await archive.open();
  return archive;
}

/** Returns the size of the checkpoint's tree; 0 if it is no checkpoint. */
function sizeOf(note: Uint8Array): number {
  try {
    return parseCheckpoint(parseNote(Buffer.from(note).toString()).text).size;
  } catch {
    return 0;
  }
}
