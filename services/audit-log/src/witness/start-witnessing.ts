import { setTimeout as pause } from "node:timers/promises";
import { type Archive, ARCHIVE_TREE, openTree } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { CosignedNotes } from "./cosigned-notes.ts";
import { CurrentCheckpoints } from "./current-checkpoints.ts";
import type { SignedCheckpoint } from "./signed-checkpoints.ts";
import { submitCheckpoint } from "./submit-checkpoint.ts";

export interface WitnessingOptions {
  archive: Archive;
  /** Of the witnesses. Each is dealt with by itself: one that is away holds up no other, and no archiving. */
  urls: readonly string[];
  /** Told what is tried again; and, with `archive_corrupt`, that a witness has seen another history: somebody must look. */
  onError: (error: unknown) => void;
  /** How often it is looked whether trees have grown. Default: 1,000 ms. */
  pollMs?: number;
  /** For each request to a witness. Default: 10,000 ms. */
  timeoutMs?: number;
}

const LAST_RETRY_MS = 60_000;

/** Submits the archive's checkpoints to witnesses as its trees grow, and keeps what they have cosigned. */
export function startWitnessing(options: WitnessingOptions): AsyncDisposable {
  const { archive, urls } = options;
  const stop = new AbortController();
  const current = new CurrentCheckpoints(archive);
  const cosigned = new CosignedNotes(archive.store);
  const over = Promise.all(
    urls.map((url) => new Witnessing(url, options, current, cosigned, stop.signal).run()),
  );
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
    },
  };
}

/** What goes on with one witness. */
class Witnessing {
  readonly #url: string;
  readonly #options: WitnessingOptions;
  readonly #current: CurrentCheckpoints;
  readonly #cosigned: CosignedNotes;
  readonly #signal: AbortSignal;
  /** The size of each tree up to which the witness has said what it has to say. */
  readonly #settled = new Map<string, number>();

  constructor(
    url: string,
    options: WitnessingOptions,
    current: CurrentCheckpoints,
    cosigned: CosignedNotes,
    signal: AbortSignal,
  ) {
    this.#url = url;
    this.#options = options;
    this.#current = current;
    this.#cosigned = cosigned;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { pollMs = 1_000, onError } = this.#options;
    let waitMs = pollMs;
    while (!this.#signal.aborted) {
      try {
        await this.#round();
        waitMs = pollMs;
      } catch (error) {
        if (this.#signal.aborted) return;
        onError(error);
        waitMs = Math.min(2 * waitMs, LAST_RETRY_MS);
      }
      await pause(waitMs, undefined, { signal: this.#signal }).catch(() => {});
    }
  }

  async #round(): Promise<void> {
    for (const [tree, checkpoint] of await this.#current.refresh())
      if (this.#settled.get(tree) !== checkpoint.size) await this.#submit(tree, checkpoint);
  }

  async #submit(tree: string, checkpoint: SignedCheckpoint): Promise<void> {
    const { archive, timeoutMs = 10_000 } = this.#options;
    const { origin, note, size } = checkpoint;
    const submission = await submitCheckpoint({
      url: this.#url,
      origin,
      note,
      size,
      hashes: openTree(archive, tree).hashes,
      seenSize: this.#settled.get(tree) ?? 0,
      timeoutMs,
      signal: this.#signal,
    });
    if (submission.kind === "cosigned") {
      await this.#cosigned.add(tree, checkpoint, this.#url, submission.lines);
      this.#settled.set(tree, size);
    } else if (submission.kind === "differs") {
      this.#alarm(tree, size, `has cosigned ${submission.seenSize} leaves that are others`);
    } else if (!(await this.#grewTo(tree, submission.size))) {
      this.#alarm(tree, size, `has cosigned ${submission.size} leaves, and there are ${this.#sizeOf(tree)}`);
    }
  }

  /** Another process may have committed what this one has not read yet. */
  async #grewTo(tree: string, size: number): Promise<boolean> {
    if (this.#sizeOf(tree) < size) {
      // While the store is away a commit of this process is tried again and again, and this waits for it: closing must not.
      const aborted = new Promise<void>((resolve) =>
        this.#signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      await Promise.race([this.#options.archive.refresh(), aborted]);
      this.#signal.throwIfAborted();
    }
    return this.#sizeOf(tree) >= size;
  }

  #sizeOf(tree: string): number {
    const { state } = this.#options.archive;
    return (tree === ARCHIVE_TREE ? state.archiveTree : state.tree(tree)).size;
  }

  /** Once for each size: what a witness has seen it does not forget. */
  #alarm(tree: string, size: number, what: string): void {
    this.#settled.set(tree, size);
    const message = `The history of ${tree} is not the one that was witnessed: ${this.#url} ${what}.`;
    this.#options.onError(new RepriseError("archive_corrupt", message));
  }
}
