import { EXPANDED, foldAstral, foldTables, SKIPPED } from "./fold-table.ts";
import type { SymbolChunk } from "./finding.ts";

/** A longer piece is read in slices, so that the buffers keep their size. */
export const SLICE_UNITS = 256;

const MOST_SYMBOLS_PER_UNIT = 4;
const HIGH = 0xd8_00;
const LOW = 0xdc_00;
const LAST_LOW = 0xdf_ff;

/**
 * Turns pieces of text into symbols: compatible forms, or code points as they are. One buffer serves all scanners of a rule set, one
 * after the other; what a scanner keeps between two pieces is a high surrogate that waits for its other half.
 */
export class SymbolBuffer implements SymbolChunk {
  readonly symbols = new Int32Array(SLICE_UNITS * MOST_SYMBOLS_PER_UNIT + 4);
  readonly starts = new Int32Array(SLICE_UNITS * MOST_SYMBOLS_PER_UNIT + 4);
  readonly ends = new Int32Array(SLICE_UNITS * MOST_SYMBOLS_PER_UNIT + 4);
  count = 0;
  /** True if the last character read is ASCII, which is its own compatible form. */
  isAscii = false;
  readonly #compatible: Uint16Array;
  readonly #expansions: ReadonlyMap<number, readonly number[]>;

  constructor() {
    const { compatible, expansions } = foldTables();
    this.#compatible = compatible;
    this.#expansions = expansions;
  }

  /**
   * Reads `text[from..to)`, at most `SLICE_UNITS`, in compatible form.
   * @param shift added to an index of `text`, gives the offset in the whole text
   * @param high the high surrogate right before, or 0
   * @returns the high surrogate that the slice ends with, or 0
   */
  fold(text: string, from: number, to: number, shift: number, high: number): number {
    const compatible = this.#compatible;
    const { symbols, starts, ends } = this;
    let count = 0;
    let open = high;
    let bits = high;
    for (let at = from; at < to; at++) {
      const unit = text.charCodeAt(at);
      bits |= unit;
      const symbol = compatible[unit] as number;
      if (open === 0 && (symbol < HIGH || (symbol > LAST_LOW && symbol < EXPANDED))) {
        symbols[count] = symbol;
        starts[count] = at + shift;
        ends[count++] = at + shift + 1;
        continue;
      }
      this.count = count;
      open = this.#foldRare(unit, at + shift, open);
      count = this.count;
    }
    this.count = count;
    // Controls are skipped.
    this.isAscii = bits < 0x80 && count === to - from;
    return open;
  }

  /** Reads a slice as code points, nothing folded. As `fold` else. */
  read(text: string, from: number, to: number, shift: number, high: number): number {
    this.count = 0;
    let open = high;
    for (let at = from; at < to; at++) {
      const unit = text.charCodeAt(at);
      if (open !== 0 && isLow(unit)) {
        this.#put(toCodePoint(open, unit), at + shift - 1, at + shift + 1);
        open = 0;
        continue;
      }
      if (open !== 0) this.#put(open, at + shift - 1, at + shift);
      open = isHigh(unit) ? unit : 0;
      if (open === 0) this.#put(unit, at + shift, at + shift + 1);
    }
    return open;
  }

  /** The half of a pair that got no other half. */
  lone(high: number, end: number): void {
    this.count = 0;
    if (high !== 0) this.#put(high, end - 1, end);
  }

  #foldRare(unit: number, offset: number, open: number): number {
    if (open !== 0 && isLow(unit)) {
      const symbol = foldAstral(toCodePoint(open, unit));
      if (symbol !== SKIPPED) this.#put(symbol, offset - 1, offset + 1);
      return 0;
    }
    if (open !== 0) this.#put(open, offset - 1, offset);
    if (isHigh(unit)) return unit;
    const symbol = this.#compatible[unit] as number;
    if (symbol === EXPANDED)
      for (const part of this.#expansions.get(unit) ?? []) this.#put(part, offset, offset + 1);
    else if (symbol !== SKIPPED) this.#put(symbol, offset, offset + 1);
    return 0;
  }

  #put(symbol: number, start: number, end: number): void {
    this.symbols[this.count] = symbol;
    this.starts[this.count] = start;
    this.ends[this.count++] = end;
  }
}

function isHigh(unit: number): boolean {
  return unit >= HIGH && unit < LOW;
}

function isLow(unit: number): boolean {
  return unit >= LOW && unit <= LAST_LOW;
}

function toCodePoint(high: number, low: number): number {
  return ((high - HIGH) << 10) + (low - LOW) + 0x1_00_00;
}
