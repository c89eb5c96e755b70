import { createClient } from "@reprise/client";
import { parseCursor } from "@reprise/protocol";

/** A client of one generation, with what it was shown and its cursor: a phone. */
export class DrillReader {
  readonly id: string;
  /** Payloads, by seq. */
  readonly seen = new Map<number, string>();
  /** Events that it was shown twice, or out of order. */
  readonly disorder: string[] = [];
  readonly #key: string;
  #cursor: string | undefined;
  #gone = new AbortController();
  #reading: Promise<string> = Promise.resolve("asleep");
  #news = Promise.withResolvers<void>();

  constructor(id: string, key: string) {
    this.id = id;
    this.#key = key;
  }

  /** The seq that its cursor names; 0 before the first event. */
  get seq(): number {
    return this.#cursor === undefined ? 0 : parseCursor(this.#cursor).seq;
  }

  /** Reads on from its cursor. */
  wake(url: string): void {
    this.#gone = new AbortController();
    this.#reading = this.#read(url, this.#gone.signal);
  }

  /** Lets go of its connection, and keeps its cursor. */
  async sleep(): Promise<void> {
    this.#gone.abort();
    await this.#reading;
  }

  /** How its reading has ended: `ended`, `asleep`, or an error's code. */
  get outcome(): Promise<string> {
    return this.#reading;
  }

  /** Resolves when it was shown so many events, or its reading is over. */
  async until(count: number): Promise<void> {
    let isOver = false;
    void this.#reading.then(() => {
      isOver = true;
      this.#announce();
    });
    while (this.seen.size < count && !isOver) await this.#news.promise;
  }

  /** Forgets everything, as an app does that was told that events are lost. */
  forget(): void {
    this.seen.clear();
    this.#cursor = undefined;
  }

  async #read(url: string, signal: AbortSignal): Promise<string> {
    const { generations } = createClient({ url, apiKey: this.#key });
    const stream = generations.stream(this.id, {
      signal,
      ...(this.#cursor !== undefined && { after: this.#cursor }),
    });
    try {
      for await (const event of stream) {
        if (event.seq !== this.seq + 1) this.disorder.push(`${this.id}: ${event.seq} after ${this.seq}`);
        this.seen.set(event.seq, JSON.stringify(event));
        this.#cursor = stream.cursor;
        this.#announce();
      }
      return signal.aborted ? "asleep" : "ended";
    } catch (error) {
      return signal.aborted ? "asleep" : ((error as { code?: string }).code ?? String(error));
    }
  }

  #announce(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
