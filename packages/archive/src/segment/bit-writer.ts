const FIRST_BYTES = 256;
const WORD = 32;

/** Bits one behind another, the most significant of a value first. */
export class BitWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;
  /** Bits that do not make a byte yet: the lowest `#pending` of it. */
  #buffer = 0;
  #pending = 0;

  /** @param value a whole number from 0 to 2^bits - 1; only its lowest bits are looked at
   *  @param bits 0 to 32 */
  write(value: number, bits: number): void {
    let left = bits;
    while (left > 0) {
      const taken = Math.min(left, 8 - this.#pending);
      left -= taken;
      this.#buffer = (this.#buffer << taken) | ((value >>> left) & ((1 << taken) - 1));
      this.#pending += taken;
      if (this.#pending === 8) this.#pushByte();
    }
  }

  /** Seven bits at a time, the lowest first, each with a bit before that says whether more follow. @param value a safe integer from 0 */
  writeVarint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.write((rest % 0x80) | 0x80, 8);
      rest = Math.floor(rest / 0x80);
    }
    this.write(rest, 8);
  }

  /** 53 bits. @param value a safe integer from 0 */
  writeSafeInteger(value: number): void {
    this.write(Math.floor(value / 2 ** WORD), 21);
    this.write(value % 2 ** WORD, WORD);
  }

  /** Everything so far; zeros fill the last byte. */
  toBytes(): Uint8Array {
    if (this.#pending > 0) this.write(0, 8 - this.#pending);
    return this.#bytes.subarray(0, this.#length);
  }

  #pushByte(): void {
    if (this.#length === this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes[this.#length++] = this.#buffer;
    this.#buffer = 0;
    this.#pending = 0;
  }
}
