const FIRST_SIZE = 64;

/** The last symbols of a text with their offsets, by their number since the text began. Grows when more are asked for. */
export class SymbolRing {
  #symbols = new Int32Array(FIRST_SIZE);
  /** The offset where a symbol begins, times two, plus 1 where it is two units long. */
  #places = new Int32Array(FIRST_SIZE);
  #mask = FIRST_SIZE - 1;
  /** How many symbols there were so far. */
  count = 0;

  /** Makes room for `more` symbols without forgetting those from number `from` on. */
  reserve(more: number, from: number): void {
    let size = this.#mask + 1;
    while (this.count + more - from > size) size *= 2;
    if (size === this.#mask + 1) return;
    const symbols = new Int32Array(size);
    const places = new Int32Array(size);
    for (let number = Math.max(from, 0); number < this.count; number++) {
      symbols[number & (size - 1)] = this.#symbols[number & this.#mask] as number;
      places[number & (size - 1)] = this.#places[number & this.#mask] as number;
    }
    this.#symbols = symbols;
    this.#places = places;
    this.#mask = size - 1;
  }

  add(symbol: number, start: number, end: number): void {
    const slot = this.count++ & this.#mask;
    this.#symbols[slot] = symbol;
    this.#places[slot] = start * 2 + (end - start - 1);
  }

  symbol(number: number): number {
    return this.#symbols[number & this.#mask] as number;
  }

  start(number: number): number {
    return (this.#places[number & this.#mask] as number) >> 1;
  }

  end(number: number): number {
    const place = this.#places[number & this.#mask] as number;
    return (place >> 1) + (place & 1) + 1;
  }

  text(from: number, to: number): string {
    let text = "";
    for (let number = from; number < to; number++) text += String.fromCodePoint(this.symbol(number));
    return text;
  }
}
