/** The part of an archive that reads new commits. */
export interface Refreshable {
  refresh(): Promise<unknown>;
}

export interface FreshArchiveOptions {
  archive: Refreshable;
  /** Maximum age of the known state, in milliseconds. */
  maxAgeMs: number;
  /** In milliseconds, and only ever more. */
  now: () => number;
}

/** Keeps the known state of an archive that others write to recent. Concurrent calls share one refresh. */
export class FreshArchive {
  readonly #options: FreshArchiveOptions;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;

  constructor(options: FreshArchiveOptions) {
    this.#options = options;
  }

  /** @throws RepriseError `archive_unavailable`, `archive_corrupt` */
  async ensureFresh(): Promise<void> {
    const { maxAgeMs, now } = this.#options;
    if (now() - this.#refreshedAt > maxAgeMs) await this.refresh();
  }

  /**
   * Takes in everything that was committed before the call.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  async refresh(): Promise<void> {
    // The refresh under way may have read already when the newest commit came.
    await this.#refreshing?.catch(() => {});
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined));
    await this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const { archive, now } = this.#options;
    const startedAt = now();
    await archive.refresh();
    this.#refreshedAt = startedAt;
  }
}
