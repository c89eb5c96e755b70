import { RepriseError } from "@reprise/protocol";

/** Writes whole numbers up to 2^53, seven bits a byte. */
export class VarintWriter {
  readonly #bytes: number[] = [];

  write(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes.push((rest % 0x80) + 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes.push(rest);
  }

  get bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/** Reads what `VarintWriter` writes. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  /** @param what the bytes are, for errors */
  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** @throws RepriseError `protocol_violation` after the end, and for what is not a whole number */
  read(): number {
    const first = this.#bytes[this.#at];
    // Most numbers have one byte.
    if (first !== undefined && first < 0x80) {
      this.#at++;
      return first;
    }
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw this.fail("ends early");
      value += (byte % 0x80) * scale;
      if (value > Number.MAX_SAFE_INTEGER) throw this.fail("holds a number that is too large");
      if (byte < 0x80) return value;
    }
  }

  fail(problem: string): RepriseError {
    return new RepriseError("protocol_violation", `${this.#what} ${problem}.`);
  }
}
