import type { SymbolChunk } from "./finding.ts";
import { codePointOf, EM_DASH, SIGN } from "./side.ts";

const FIRST_SIZE = 64;

/** The last symbols of a text with their offsets, by their number since the text began. Grows when more are asked for. */
export class SymbolRing {
  /** For each symbol two numbers: itself, and where it begins, times two, plus 1 where it is two units long. */
  #slots = new Int32Array(2 * FIRST_SIZE);
  #mask = FIRST_SIZE - 1;
  /** Number of symbols so far. */
  count = 0;

  fork(): SymbolRing {
    const copy = new SymbolRing();
    copy.#slots = this.#slots.slice();
    copy.#mask = this.#mask;
    copy.count = this.count;
    return copy;
  }

  /** Makes room for `more` symbols without forgetting those from number `from` on. */
  reserve(more: number, from: number): void {
    let size = this.#mask + 1;
    while (this.count + more - from > size) size *= 2;
    if (size === this.#mask + 1) return;
    const slots = new Int32Array(2 * size);
    for (let number = Math.max(from, 0); number < this.count; number++) {
      const slot = 2 * (number & (size - 1));
      slots[slot] = this.symbol(number);
      slots[slot + 1] = this.#place(number);
    }
    this.#slots = slots;
    this.#mask = size - 1;
  }

  /** Room for them must have been reserved. */
  append({ symbols, starts, ends, count }: SymbolChunk): void {
    const mask = this.#mask;
    const slots = this.#slots;
    for (let at = 0, number = this.count; at < count; at++, number++) {
      const slot = 2 * (number & mask);
      slots[slot] = symbols[at] as number;
      slots[slot + 1] = (starts[at] as number) + (ends[at] as number) - 1;
    }
    this.count += count;
  }

  symbol(number: number): number {
    return this.#slots[2 * (number & this.#mask)] as number;
  }

  start(number: number): number {
    return this.#place(number) >> 1;
  }

  end(number: number): number {
    const place = this.#place(number);
    return (place >> 1) + (place & 1) + 1;
  }

  /** Returns the text before a symbol, with a blank for each sign: signs are separate. */
  before(number: number, count: number): string {
    let text = "";
    for (let at = Math.max(0, number - count); at < number; at++)
      text += this.symbol(at) >= SIGN && this.symbol(at) !== EM_DASH ? " " : this.text(at, at + 1);
    return text;
  }

  text(from: number, to: number): string {
    let text = "";
    for (let number = from; number < to; number++) {
      const symbol = this.symbol(number);
      text += symbol === EM_DASH ? "\u2014" : String.fromCodePoint(codePointOf(symbol));
    }
    return text;
  }

  #place(number: number): number {
    return this.#slots[2 * (number & this.#mask) + 1] as number;
  }
}
