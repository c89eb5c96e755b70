import { archiveCorrupt } from "./archive-corrupt.ts";

/** Reads what a BitWriter has written. Every method throws RepriseError `archive_corrupt` at the end of the bytes. */
export class BitReader {
  readonly #bytes: Uint8Array;
  /** In bits. */
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get bitsLeft(): number {
    return this.#bytes.length * 8 - this.#at;
  }

  /** @param bits 0 to 32 */
  read(bits: number): number {
    if (bits > this.bitsLeft) throw archiveCorrupt("A segment ends too early.");
    let value = 0;
    let left = bits;
    while (left > 0) {
      const before = this.#at & 7;
      const taken = Math.min(left, 8 - before);
      // Within the bytes: `bits` are left.
      const byte = this.#bytes[this.#at >>> 3]!;
      value = (value << taken) | ((byte >>> (8 - before - taken)) & ((1 << taken) - 1));
      this.#at += taken;
      left -= taken;
    }
    return value >>> 0;
  }

  /** How many ones come before the next zero, which is read too; at `most` it stops, and no zero is read. */
  readUnary(most: number): number {
    let ones = 0;
    while (ones < most && this.read(1) === 1) ones++;
    return ones;
  }

  readVarint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.read(8);
      value += (byte & 0x7f) * scale;
      if (!Number.isSafeInteger(value)) throw archiveCorrupt("A number of a segment is too large.");
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  readSafeInteger(): number {
    return this.read(21) * 2 ** 32 + this.read(32);
  }

  /** The whole bytes that follow. */
  rest(): Uint8Array {
    return this.#bytes.subarray(Math.ceil(this.#at / 8));
  }
}
