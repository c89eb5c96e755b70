import { type Detector, NOTHING_HELD, type RuleFinding, type SymbolChunk } from "./finding.ts";
import type { DfaState } from "./lazy-dfa.ts";
import { SIDE, type Side } from "./nfa.ts";
import { type PatternBank, sideBefore } from "./pattern-bank.ts";
import { SymbolRing } from "./symbol-ring.ts";

/**
 * Finds the matches of a bank's shapes in one text. For each shape alone, from left to right: the first place where a match of at most
 * `maxLength` begins, the longest match there; then on after it.
 *
 * Each shape has at most one run under way, from the earliest place where a match may still begin. A run that comes to nothing, or
 * grows too long, is followed by one from the next place, over symbols that the ring still has. So what is held is exactly what the
 * run has read, and a symbol is looked at no more than `maxLength` times by each shape, whatever the pattern and the text are.
 */
export class PatternScanner implements Detector {
  readonly #bank: PatternBank;
  readonly #report: (finding: RuleFinding) => void;
  readonly #ring = new SymbolRing();
  /** The shapes with a run under way, a bit each. */
  #running = 0;
  /** By shape: the number of the symbol where its run began, of the next symbol to read, and where its longest match ends so far. */
  readonly #begins: Int32Array;
  readonly #reads: Int32Array;
  readonly #ends: Int32Array;
  readonly #states: DfaState[];
  #before: Side = SIDE.edge;

  constructor(bank: PatternBank, report: (finding: RuleFinding) => void) {
    this.#bank = bank;
    this.#report = report;
    this.#begins = new Int32Array(bank.shapes.length);
    this.#reads = new Int32Array(bank.shapes.length);
    this.#ends = new Int32Array(bank.shapes.length);
    this.#states = bank.shapes.map(({ dfa }) => dfa.start(SIDE.edge));
  }

  feed({ symbols, starts, ends, count }: SymbolChunk): void {
    const ring = this.#ring;
    const bank = this.#bank;
    ring.reserve(count, this.#earliest() - 1);
    const first = ring.count;
    let awake = this.#running;
    let before = this.#before;
    for (let at = 0; at < count; at++) {
      const symbol = symbols[at] as number;
      ring.add(symbol, starts[at] as number, ends[at] as number);
      for (let woken = bank.beginning(before, symbol) & ~awake; woken !== 0; woken &= woken - 1) {
        const shape = lowestBit(woken);
        this.#reads[shape] = first + at;
        awake |= 1 << shape;
      }
      before = sideBefore(symbol);
    }
    this.#before = before;
    for (let left = awake; left !== 0; left &= left - 1) this.#advance(lowestBit(left), false);
  }

  end(): void {
    for (let left = this.#running; left !== 0; left &= left - 1) this.#advance(lowestBit(left), true);
  }

  heldFrom(): number {
    return this.#running === 0 ? NOTHING_HELD : this.#ring.start(this.#earliest());
  }

  /** The number of the first symbol that a run has read, or else of the next symbol. */
  #earliest(): number {
    let earliest = this.#ring.count;
    for (let left = this.#running; left !== 0; left &= left - 1)
      earliest = Math.min(earliest, this.#begins[lowestBit(left)] as number);
    return earliest;
  }

  /** Takes a shape through all symbols that are there; `ended`: there will be no more. */
  #advance(shape: number, ended: boolean): void {
    const bit = 1 << shape;
    for (;;) {
      if ((this.#running & bit) === 0 && !this.#begin(shape)) return;
      if (!this.#run(shape, ended)) return;
      this.#running &= ~bit;
      this.#conclude(shape);
    }
  }

  /** Looks for the next place where a match may begin. */
  #begin(shape: number): boolean {
    const ring = this.#ring;
    const { dfa } = this.#shape(shape);
    for (let at = this.#reads[shape] as number; at < ring.count; at++) {
      const before = at === 0 ? SIDE.edge : sideBefore(ring.symbol(at - 1));
      if (!dfa.begins(before, ring.symbol(at))) continue;
      this.#running |= 1 << shape;
      this.#begins[shape] = at;
      this.#reads[shape] = at;
      this.#ends[shape] = at;
      this.#states[shape] = dfa.start(before);
      return true;
    }
    return false;
  }

  /** @returns whether the run is over: nothing that may follow makes its match longer */
  #run(shape: number, ended: boolean): boolean {
    const ring = this.#ring;
    const { dfa, maxLength } = this.#shape(shape);
    const last = (this.#begins[shape] as number) + maxLength;
    let at = this.#reads[shape] as number;
    let end = this.#ends[shape] as number;
    let state = this.#states[shape] as DfaState;
    let over = false;
    while (!over && at < ring.count) {
      state = dfa.step(state, ring.symbol(at));
      if (state.matchedBefore) end = at;
      at++;
      if (state.matches && at <= last) end = at;
      over = !state.open || at > last || (at === last && !state.asks);
    }
    if (!over && ended && dfa.matchesAtEnd(state)) end = at;
    this.#states[shape] = state;
    this.#reads[shape] = at;
    this.#ends[shape] = end;
    return over || ended;
  }

  /** Reports what a run found, and says where the search goes on. */
  #conclude(shape: number): void {
    const begin = this.#begins[shape] as number;
    const end = this.#ends[shape] as number;
    const { label, check } = this.#shape(shape);
    const length = end > begin && check !== undefined ? check(this.#ring.text(begin, end)) : end - begin;
    this.#reads[shape] = length > 0 ? begin + length : begin + 1;
    if (length === 0) return;
    const from = this.#ring.start(begin);
    this.#report({ ...label, from, to: this.#ring.end(begin + length - 1) });
  }

  #shape(shape: number): PatternBank["shapes"][number] {
    return this.#bank.shapes[shape] as PatternBank["shapes"][number];
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
