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
