import { pause } from "@reprise/async";
import * as blobs from "@reprise/blobs";
import type { BlobMetrics } from "./blob-metrics.ts";

export interface BlobSweepsOptions {
  readonly storage: blobs.BlobStorage;
  readonly metrics: BlobMetrics;
  /** Milliseconds between two sweeps by all nodes together. Default 5 min. */
  readonly everyMs?: number | undefined;
  readonly onError: (error: unknown) => void;
}

const EVERY_MS = 300_000;

/** Has what is over removed, as long as this node runs. Nodes take turns by the row of the last sweep. */
export class BlobSweeps implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: BlobSweepsOptions) {
    this.#running = this.#run(options);
  }

  async #run({ storage, metrics, everyMs = EVERY_MS, onError }: BlobSweepsOptions): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Not all nodes ask in the same moment.
      await pause(everyMs * (0.5 + Math.random()), signal);
      if (signal.aborted) return;
      try {
        const swept = await blobs.sweepBlobs(storage, { everyMs });
        metrics.removed("blob", swept?.blobs ?? 0);
        metrics.removed("upload", swept?.uploads ?? 0);
        metrics.removed("orphan", swept?.orphans ?? 0);
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
