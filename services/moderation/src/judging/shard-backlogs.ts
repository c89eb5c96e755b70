import { pause } from "@reprise/async";

export interface ShardBacklogsOptions {
  /** How many shards are followed; 0 until there is something to judge. */
  readonly shards: () => number;
  /** How many events of a shard are not dealt with; undefined where that is not known. */
  readonly read: (shard: number) => Promise<number | undefined>;
  readonly everyMs?: number;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 5_000;

/** How many events of all shards moderation has not dealt with, asked for one shard after the other. */
export class ShardBacklogs implements Disposable {
  readonly #options: ShardBacklogsOptions;
  readonly #closed = new AbortController();
  #total: number | undefined = 0;

  constructor(options: ShardBacklogsOptions) {
    this.#options = options;
    void this.#run().catch(options.onError);
  }

  /** As of the last round; undefined where it did not learn all of it. */
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
