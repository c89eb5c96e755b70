import type { Metrics } from "@reprise/runtime";

const RESULTS = ["stored", "joined", "refused"] as const;
const REMOVED = ["blob", "upload", "orphan"] as const;

export type UploadResult = (typeof RESULTS)[number];

/** Metrics of a node's blobs. Each counter has its samples from the start, at 0, so the first upload is an increase. */
export class BlobMetrics {
  readonly #bytes;
  readonly #uploads;
  readonly #removed;

  constructor(metrics: Metrics) {
    this.#bytes = metrics.counter("reprise_blob_bytes_total");
    this.#uploads = metrics.counter("reprise_blob_uploads_total");
    this.#removed = metrics.counter("reprise_blobs_removed_total");
    for (const direction of ["in", "out"]) this.#bytes.inc({ direction }, 0);
    for (const result of RESULTS) this.#uploads.inc({ result }, 0);
    for (const what of REMOVED) this.#removed.inc({ what }, 0);
  }

  received(bytes: number): void {
    if (bytes > 0) this.#bytes.inc({ direction: "in" }, bytes);
  }

  sent(bytes: number): void {
    this.#bytes.inc({ direction: "out" }, bytes);
  }

  finished(result: UploadResult): void {
    this.#uploads.inc({ result });
  }

  removed(what: (typeof REMOVED)[number], count: number): void {
    if (count > 0) this.#removed.inc({ what }, count);
  }
}
