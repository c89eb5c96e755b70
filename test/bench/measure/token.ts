import { createSseDecoder } from "@reprise/protocol";

/*
 * A token of 100 bytes that says when it was due: "@", 16 digits of microseconds, padding. In any framing of a target a
 * reader finds it by its "@" and needs no parser, so that the measurement is of the server and not of the reader.
 */

const TOKEN_BYTES = 100;
const DIGITS = 16;
const MARK = 0x40;
const PADDING = "x".repeat(TOKEN_BYTES - 1 - DIGITS);

export function encodeToken(dueMicros: number): string {
  return `@${String(dueMicros).padStart(DIGITS, "0")}${PADDING}`;
}

/** Finds stamps in a stream of bytes, at any boundary between two reads. */
export class StampScanner {
  #digits = DIGITS;
  #value = 0;

  /** Calls back with the due time of every token whose stamp ends in these bytes. */
  push(bytes: Buffer, onStamp: (dueMicros: number) => void): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#digits === DIGITS) {
        at = bytes.indexOf(MARK, at) + 1;
        if (at === 0) return;
        this.#digits = 0;
        this.#value = 0;
      }
      while (this.#digits < DIGITS && at < bytes.length) {
        this.#value = this.#value * 10 + bytes[at++]! - 0x30;
        this.#digits++;
      }
      if (this.#digits === DIGITS) onStamp(this.#value);
    }
  }
}

/**
 * Counts the tokens that a reader of Reprise gets, for texts without due times: a rule of moderation would take a stamp for a number. A
 * repeated event counts again as before.
 */
export class TokenCounter {
  readonly #decoder = createSseDecoder();
  readonly #firstOf = new Map<number, number>();
  #count = 0;

  /** Calls back with the index of every token whose event ends in these bytes, the first of the stream being 0. */
  push(bytes: Buffer, onCounted: (index: number) => void): void {
    // The decoder skips the heads of HTTP chunks: no event has such lines.
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
