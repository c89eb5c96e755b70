import type { Metrics } from "@reprise/service";

export type UploadResult = "stored" | "joined" | "cut" | "refused";

/** What blobs take of a node. */
export class BlobMetrics {
  readonly #bytes;
  readonly #uploads;
  readonly #removed;

  constructor(metrics: Metrics) {
    this.#bytes = metrics.counter("reprise_blob_bytes_total");
    this.#uploads = metrics.counter("reprise_blob_uploads_total");
    this.#removed = metrics.counter("reprise_blobs_removed_total");
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

  removed(what: "blob" | "upload" | "orphan", count: number): void {
    if (count > 0) this.#removed.inc({ what }, count);
  }
}
