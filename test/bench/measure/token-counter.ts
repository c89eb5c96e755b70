import { createSseDecoder } from "@reprise/protocol";

/**
 * Counts the tokens in what a reader of Reprise gets, for texts that can't say when they were due: rules of moderation would take a
 * stamp for a number. An event that has come before counts again as what it was.
 */
export class TokenCounter {
  readonly #decoder = createSseDecoder();
  readonly #firstOf = new Map<number, number>();
  #count = 0;

  /** Calls back with the index of every token whose event ends in these bytes, the first of the stream being 0. */
  push(bytes: Buffer, onCounted: (index: number) => void): void {
    // The heads of chunks are lines that no event has: the decoder passes over them.
    for (const { data } of this.#decoder.push(bytes)) {
      const event = JSON.parse(data) as { seq: number; type: string; tokens?: number };
      if (event.type !== "output.delta") continue;
      const first = this.#firstOf.get(event.seq) ?? this.#count;
      if (first === this.#count) this.#count += event.tokens ?? 1;
      this.#firstOf.set(event.seq, first);
      for (let index = first; index < first + (event.tokens ?? 1); index++) onCounted(index);
    }
  }
}
