import { type Archive, ARCHIVE_TREE, openTree } from "@reprise/archive";
import { pause, raceAbort, retry } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";
import type { DependencyWatch, DependencyWatches, Logger, Metrics } from "@reprise/runtime";
import { CosignedNotes } from "./cosigned-notes.ts";
import { CurrentCheckpoints } from "./current-checkpoints.ts";
import type { SignedCheckpoint } from "./signed-checkpoints.ts";
import { submitCheckpoint, WitnessError } from "./submit-checkpoint.ts";

export interface WitnessingOptions {
  archive: Archive;
  /**
   * URLs of the witnesses; some may be known only after they have started. Each is handled separately: one that is away delays neither the others nor
   * archiving.
   */
  urls: readonly (string | Promise<string>)[];
  /** Each witness is one of them, from its first request on: what fails there is retried. */
  watches: DependencyWatches;
  logger: Logger;
  metrics: Metrics;
  /** Called for failures of the archive, which are retried; and, with `archive_corrupt`, when a witness has seen another history: an operator must look into it. */
  onError: (error: unknown) => void;
  /** Interval of checks if trees have grown. Default: 1,000 ms. */
  pollMs?: number;
  /** For each request to a witness. Default: 10,000 ms. */
  timeoutMs?: number;
  /** Time that closing may take to submit the last commits. Default: 2,000 ms. */
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
    if (url !== undefined)
      await new Witnessing({ ...options, url, current, cosigned, stop: stop.signal }).run();
  };
  const over = Promise.all(urls.map(run));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
    },
  };
}

interface OneWitnessOptions extends WitnessingOptions {
  readonly url: string;
  readonly current: CurrentCheckpoints;
  readonly cosigned: CosignedNotes;
  readonly stop: AbortSignal;
}

/** The submissions to one witness. */
class Witnessing {
  readonly #options: OneWitnessOptions;
  readonly #watch: DependencyWatch;
  readonly #host: string;
  /** Size of the archive's own tree that it has cosigned. */
  #cosignedSize = 0;
  /** The size of each tree up to which the witness has said what it has to say. */
  readonly #settled = new Map<string, number>();

  constructor(options: OneWitnessOptions) {
    this.#options = options;
    const { host } = new URL(options.url);
    this.#host = host;
    this.#watch = options.watches.add({
      name: `witness:${host}`,
      gone: "a witness cosigns nothing; archiving continues",
      back: "a witness cosigns again",
      fields: { witness: host },
      reports: "each",
    });
  }

  async run(): Promise<void> {
    const { pollMs = 1_000, closeMs = 2_000, stop, url, logger } = this.#options;
    const tryRound = async () => {
      try {
        await this.#round(stop);
        return true;
      } catch (error) {
        if (!stop.aborted) this.#failed(error);
        return undefined;
      } finally {
        this.#noteLag();
      }
    };
    while (!stop.aborted) {
      await retry(tryRound, { pauseMs: 2 * pollMs, maxPauseMs: LAST_RETRY_MS, signal: stop });
      await pause(pollMs, stop);
    }
    await this.#round(AbortSignal.timeout(closeMs)).catch((err: unknown) =>
      logger.warn({ witness: url, err }, "what was committed last is cosigned after the next start"),
    );
  }

  #noteLag(): void {
    const { archive, metrics } = this.#options;
    const lag = archive.state.archiveTree.size - this.#cosignedSize;
    metrics.gauge("reprise_witness_lag_size").set({ witness: this.#host }, Math.max(0, lag));
  }

  #failed(error: unknown): void {
    if (error instanceof WitnessError) this.#watch.failed(error.message);
    else this.#options.onError(error);
  }

  /** While the store is away the archive tries again and again, and all that waits for it waits: closing must not. */
  async #round(signal: AbortSignal): Promise<void> {
    const own = await raceAbort(this.#options.current.own(), signal);
    if (own) await this.#submitNew(ARCHIVE_TREE, own, signal);
    const current = await raceAbort(this.#options.current.refresh(), signal);
    for (const [tree, checkpoint] of current) await this.#submitNew(tree, checkpoint, signal);
  }

  async #submitNew(tree: string, checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<void> {
    if (this.#settled.get(tree) !== checkpoint.size) await this.#submit(tree, checkpoint, signal);
  }

  async #submit(tree: string, checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<void> {
    const { archive, cosigned, url, timeoutMs = 10_000 } = this.#options;
    const { origin, note, size } = checkpoint;
    const submission = await submitCheckpoint({
      url,
      origin,
      note,
      size,
      hashes: openTree(archive, tree).hashes,
      seenSize: this.#settled.get(tree) ?? 0,
      timeoutMs,
      signal,
    });
    this.#watch.worked();
    if (submission.kind === "cosigned") {
      await cosigned.add(tree, checkpoint, url, submission.lines);
      this.#settled.set(tree, size);
      if (tree === ARCHIVE_TREE) this.#cosignedSize = size;
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
    const message = `The history of ${tree} is not the one that was witnessed: ${this.#options.url} ${what}.`;
    this.#options.onError(new RepriseError("archive_corrupt", message));
  }
}
