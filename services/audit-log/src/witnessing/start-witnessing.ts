import { type Archive, ARCHIVE_TREE, openTree } from "@reprise/archive";
import { pause, retry } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import { raceAbort } from "../shutdown.ts";
import { CosignedNotes } from "./cosigned-notes.ts";
import { CurrentCheckpoints } from "./current-checkpoints.ts";
import type { SignedCheckpoint } from "./signed-checkpoints.ts";
import { submitCheckpoint } from "./submit-checkpoint.ts";

export interface WitnessingOptions {
  archive: Archive;
  /**
   * Of the witnesses, some perhaps known only once they run. Each is dealt with by itself: one that is away holds up no other, and no
   * archiving.
   */
  urls: readonly (string | Promise<string>)[];
  /** Called for failures that are retried; and, with `archive_corrupt`, when a witness has seen another history: an operator must look into it. */
  onError: (error: unknown) => void;
  /** How often it checks whether trees have grown. Default: 1,000 ms. */
  pollMs?: number;
  /** For each request to a witness. Default: 10,000 ms. */
  timeoutMs?: number;
  /** How long closing may take to submit what was committed last. Default: 2,000 ms. */
  closeMs?: number;
}

const LAST_RETRY_MS = 60_000;

/**
 * Submits the archive's checkpoints to witnesses as its trees grow, and keeps what they have cosigned. Is to be closed when nothing is
 * committed any more: an end that no witness has seen could be cut off while no archiver runs.
 */
export function startWitnessing(options: WitnessingOptions): AsyncDisposable {
  const { archive, urls } = options;
  const stop = new AbortController();
  const current = new CurrentCheckpoints(archive);
  const cosigned = new CosignedNotes(archive.store);
  const run = async (given: string | Promise<string>) => {
    const url = await raceAbort(Promise.resolve(given), stop.signal).catch(() => undefined);
    if (url !== undefined) await new Witnessing(url, options, current, cosigned, stop.signal).run();
  };
  const over = Promise.all(urls.map(run));
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
  readonly #stop: AbortSignal;
  /** The size of each tree up to which the witness has said what it has to say. */
  readonly #settled = new Map<string, number>();

  constructor(
    url: string,
    options: WitnessingOptions,
    current: CurrentCheckpoints,
    cosigned: CosignedNotes,
    stop: AbortSignal,
  ) {
    this.#url = url;
    this.#options = options;
    this.#current = current;
    this.#cosigned = cosigned;
    this.#stop = stop;
  }

  async run(): Promise<void> {
    const { pollMs = 1_000, closeMs = 2_000, onError } = this.#options;
    const tryRound = async () => {
      try {
        await this.#round(this.#stop);
        return true;
      } catch (error) {
        if (!this.#stop.aborted) onError(error);
        return undefined;
      }
    };
    while (!this.#stop.aborted) {
      await retry(tryRound, { pauseMs: 2 * pollMs, maxPauseMs: LAST_RETRY_MS, signal: this.#stop });
      await pause(pollMs, this.#stop);
    }
    await this.#round(AbortSignal.timeout(closeMs)).catch((cause: unknown) => {
      const message = `What was committed last is not cosigned by ${this.#url}: it will be after the next start.`;
      onError(new RepriseError("archive_unavailable", message, { cause }));
    });
  }

  /** While the store is away the archive tries again and again, and all that waits for it waits: closing must not. */
  async #round(signal: AbortSignal): Promise<void> {
    const own = await raceAbort(this.#current.own(), signal);
    if (own) await this.#submitNew(ARCHIVE_TREE, own, signal);
    const current = await raceAbort(this.#current.refresh(), signal);
    for (const [tree, checkpoint] of current) await this.#submitNew(tree, checkpoint, signal);
  }

  async #submitNew(tree: string, checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<void> {
    if (this.#settled.get(tree) !== checkpoint.size) await this.#submit(tree, checkpoint, signal);
  }

  async #submit(tree: string, checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<void> {
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
      signal,
    });
    if (submission.kind === "cosigned") {
      await this.#cosigned.add(tree, checkpoint, this.#url, submission.lines);
      this.#settled.set(tree, size);
    } else if (submission.kind === "differs") {
      this.#alarm(tree, size, `has cosigned ${submission.seenSize} leaves that are others`);
    } else if (!(await this.#grewTo(tree, submission.size, signal))) {
      this.#alarm(tree, size, `has cosigned ${submission.size} leaves, and there are ${this.#sizeOf(tree)}`);
    }
  }

  /** Another process may have committed what this one has not read yet. */
  async #grewTo(tree: string, size: number, signal: AbortSignal): Promise<boolean> {
    if (this.#sizeOf(tree) < size) await raceAbort(this.#options.archive.refresh(), signal);
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
