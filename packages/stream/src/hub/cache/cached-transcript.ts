import { decodeEvent, MediaTranscript, type Seq } from "@reprise/protocol";

/** Data derived from a cache's events and kept with them: it can be derived again, and counts as the cache's memory. */
export interface Derived {
  /** Memory held, in bytes, about. */
  readonly bytes: number;
  /** Lets go of what no reader needs at once. */
  trim(): void;
  /** Lets go of everything: the events are erased. */
  forget(): void;
}

/** Measured: a transcript holds a text twice, as its event brought it and joined, beside some 20 to 40 bytes per event. */
const TEXTS_HELD = 2;
const BYTES_PER_EVENT = 64;

/**
 * The transcript of a cache's events, folded when it is requested, from where the last request has left off: a client that polls a long
 * generation costs its new events, and one that is only streamed costs nothing here.
 */
export class CachedTranscript implements Derived {
  #transcript = new MediaTranscript();
  #bytes = 0;

  /** Memory held, in bytes, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * @param payloadAt an event of the log as it is to be shown; undefined where it is not in memory any more
   * @returns undefined when an event that is lacking is not in memory
   */
  foldTo(seq: Seq, payloadAt: (seq: Seq) => Uint8Array | undefined): MediaTranscript | undefined {
    for (let next = (this.#transcript.cursor.seq + 1) as Seq; next <= seq; next++) {
      const payload = payloadAt(next);
      if (!payload) return undefined;
      this.#transcript.apply(decodeEvent(payload));
      this.#bytes += TEXTS_HELD * payload.length + BYTES_PER_EVENT;
    }
    return this.#transcript;
  }

  trim(): void {
    this.forget();
  }

  forget(): void {
    this.#transcript = new MediaTranscript();
    this.#bytes = 0;
  }
}
