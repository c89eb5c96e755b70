export interface CollectorWatchOptions {
  /** The collector has not taken what it was sent: called once, until it does again. */
  readonly onAway: (error: unknown) => void;
  /** It takes spans again; `dropped` were lost meanwhile. */
  readonly onBack: (lost: { readonly dropped: number }) => void;
}

/** What became of spans on their way to the collector. */
export class CollectorWatch {
  readonly #options: CollectorWatchOptions;
  #isAway = false;
  #droppedBefore = 0;
  exported = 0;
  dropped = 0;

  constructor(options: CollectorWatchOptions) {
    this.#options = options;
  }

  /** The collector has taken so many. */
  taken(spans: number): void {
    this.exported += spans;
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#options.onBack({ dropped: this.dropped - this.#droppedBefore });
  }

  /** It has not taken so many, and they are not sent again. */
  refused(spans: number, error: unknown): void {
    if (!this.#isAway) {
      this.#isAway = true;
      this.#droppedBefore = this.dropped;
      this.#options.onAway(error);
    }
    this.dropped += spans;
  }

  /** A span found no place among those that wait to be sent. */
  overflowed(): void {
    this.dropped++;
  }
}
