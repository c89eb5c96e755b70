import { pause } from "@reprise/async";

export interface ShardBacklogsOptions {
  /** Number of shards that are followed; 0 until there is something to judge. */
  readonly shards: () => number;
  /** Reads the number of a shard's events that are not done; undefined if unknown. */
  readonly read: (shard: number) => Promise<number | undefined>;
  readonly everyMs?: number;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 5_000;

/** Counts the events of all shards that moderation has not finished, asking for one shard after the other. */
export class ShardBacklogs implements Disposable {
  readonly #options: ShardBacklogsOptions;
  readonly #closed = new AbortController();
  #total: number | undefined = 0;

  constructor(options: ShardBacklogsOptions) {
    this.#options = options;
    void this.#run().catch(options.onError);
  }

  /** The count of the last round; undefined if a part of it is unknown. */
  get total(): number | undefined {
    return this.#total;
  }

  [Symbol.dispose](): void {
    this.#closed.abort();
  }

  async #run(): Promise<void> {
    const { shards, read, everyMs = EVERY_MS } = this.#options;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await pause(everyMs, signal);
      let total: number | undefined = 0;
      for (let shard = 0; shard < shards() && !signal.aborted; shard++) {
        const backlog = await read(shard);
        total = backlog === undefined || total === undefined ? undefined : total + backlog;
      }
      if (!signal.aborted) this.#total = total;
    }
  }
}
