import type { Meter } from "./meter.ts";
import { ANYWHERE, flagsBetween, type Nfa } from "./nfa.ts";
import { codePointOf, SIDE, type Side, type SideRule, SIDES } from "./side.ts";

/** More states than this, and the ones that were made are forgotten and made again when needed. */
export const MOST_STATES = 1_000;
/** Symbols beyond ASCII whose column is remembered. */
const MOST_RARE = 4_096;
const ASCII = 0x80;
/** Steps to make a transition, beside the instructions that are visited. */
const STEPS_PER_TRANSITION = 80;

/** The states that a run of a pattern can still reach from one place. */
export interface DfaState {
  /** Instructions reached by the last character, before what needs no character is followed. */
  readonly reached: readonly number[];
  readonly before: Side;
  /** A match ended right before the last character: an assertion asked what that would be. */
  readonly matchedBefore: boolean;
  /** A match ends here, before any next symbol. */
  readonly matches: boolean;
  /** True if the next character decides whether a match ends here. */
  readonly asks: boolean;
  /** A further character may lead to a match, or decide on one that ends here. */
  readonly open: boolean;
  /** By column. */
  readonly next: (DfaState | undefined)[];
}

/**
 * A pattern's runs as a deterministic automaton, made as texts need it. Symbols that the pattern can't tell apart share a column. States are
 * objects and keep what they are made from, so forgetting the table never takes a state away from a text that is in it.
 */
export class LazyDfa {
  readonly #nfa: Nfa;
  readonly #sideOf: SideRule;
  readonly #columnOf: (codePoint: number) => string;
  readonly #columns = new Map<string, number>();
  readonly #ascii: Uint16Array;
  readonly #rare = new Map<number, number>();
  readonly #states = new Map<string, DfaState>();
  #starts: readonly DfaState[];
  readonly #begins: Uint8Array;

  /** @param meter of what is made at once; what texts make later counts for theirs */
  constructor(nfa: Nfa, sideOf: SideRule, meter: Meter) {
    this.#nfa = nfa;
    this.#sideOf = sideOf;
    this.#columnOf = nfa.createColumns();
    this.#ascii = Uint16Array.from({ length: ASCII }, (_, symbol) => this.#columnFor(symbol));
    this.#starts = this.#makeStarts();
    this.#begins = new Uint8Array(SIDES.length * ASCII);
    for (const side of SIDES)
      for (let symbol = 0; symbol < ASCII; symbol++)
        this.#begins[side * ASCII + symbol] = this.#leads(this.step(this.start(side), symbol, meter)) ? 1 : 0;
  }

  /**
   * Makes all states that texts can lead to, one with each call of `next`.
   * @returns whether there are at most `MOST_STATES`
   */
  *explore(meter: Meter): Generator<void, boolean> {
    const symbols = new Map<number, number>();
    for (let symbol = 0; symbol < ASCII; symbol++) symbols.set(this.#ascii[symbol] as number, symbol);
    for (const symbol of this.#nfa.edgesBeyondAscii())
      if (symbol >= ASCII && !symbols.has(this.#rareColumn(symbol, meter)))
        symbols.set(this.#rareColumn(symbol, meter), symbol);
    const found = new Set<DfaState>(this.#starts);
    for (const state of found) {
      for (const symbol of symbols.values()) found.add(this.step(state, symbol, meter));
      if (found.size > MOST_STATES) return false;
      yield;
    }
    return true;
  }

  start(before: Side): DfaState {
    return this.#starts[before] as DfaState;
  }

  /** True if a match may begin with this symbol. */
  begins(before: Side, symbol: number, meter: Meter): boolean {
    if (symbol < ASCII) return this.#begins[before * ASCII + symbol] === 1;
    return this.#leads(this.step(this.start(before), symbol, meter));
  }

  /** True if no match begins with `first` when `second` follows it. */
  failsWith(before: Side, first: number, second: number, meter: Meter): boolean {
    const one = this.step(this.start(before), first, meter);
    const two = this.step(one, second, meter);
    return !one.matches && !two.matchedBefore && !this.#leads(two);
  }

  /** @param meter of the text that is read */
  step(state: DfaState, symbol: number, meter: Meter): DfaState {
    const column = symbol < ASCII ? (this.#ascii[symbol] as number) : this.#rareColumn(symbol, meter);
    return (state.next[column] ??= this.#stepFrom(state, symbol, meter));
  }

  /** True if a match ends where the text does. */
  matchesAtEnd(state: DfaState): boolean {
    return this.#nfa.closure(state.reached, flagsBetween(state.before, SIDE.edge)).matches;
  }

  #makeStarts(): readonly DfaState[] {
    return SIDES.map((side) => this.#make([this.#nfa.start], side, false));
  }

  /** Unlinks the states, so that a text which is in one of them keeps no other alive. */
  #forget(): void {
    for (const { next } of this.#states.values()) next.length = 0;
    this.#states.clear();
    this.#starts = this.#makeStarts();
  }

  #rareColumn(symbol: number, meter: Meter): number {
    const known = this.#rare.get(symbol);
    if (known !== undefined) return known;
    if (this.#rare.size >= MOST_RARE) this.#rare.clear();
    const { steps } = this.#nfa;
    const column = this.#columnFor(symbol);
    meter.steps += this.#nfa.steps - steps;
    this.#rare.set(symbol, column);
    return column;
  }

  /** Symbols with the same column are the same to the pattern, and to what follows them where the pattern asks that. */
  #columnFor(symbol: number): number {
    const sides = this.#nfa.asserts ? SIDES.map((before) => this.#sideOf(before, symbol)).join("") : "";
    const key = `${this.#columnOf(codePointOf(symbol))}${sides}`;
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    this.#columns.set(key, this.#columns.size);
    return this.#columns.size - 1;
  }

  #leads({ open, matches }: DfaState): boolean {
    return open || matches;
  }

  #stepFrom(state: DfaState, symbol: number, meter: Meter): DfaState {
    const { steps } = this.#nfa;
    const after = this.#sideOf(state.before, symbol);
    const here = this.#nfa.closure(state.reached, flagsBetween(state.before, after));
    const next = this.#make(this.#nfa.step(here.waiting, codePointOf(symbol)), after, here.matches);
    meter.steps += STEPS_PER_TRANSITION + this.#nfa.steps - steps;
    return next;
  }

  #make(reached: readonly number[], after: Side, matched: boolean): DfaState {
    const { asserts } = this.#nfa;
    // Where nothing is asserted, what stood before makes no difference, and a match is told by the state before.
    const before = asserts ? after : SIDE.other;
    const matchedBefore = asserts && matched;
    const key = `${before},${matchedBefore},${reached.join()}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    if (this.#states.size >= MOST_STATES) this.#forget();
    const sure = this.#nfa.closure(reached, 0);
    const possible = asserts ? this.#nfa.closure(reached, ANYWHERE) : sure;
    const asks = possible.matches && !sure.matches;
    const state: DfaState = {
      reached,
      before,
      matchedBefore,
      matches: sure.matches,
      asks,
      open: asks || possible.waiting.length > 0,
      next: [],
    };
    this.#states.set(key, state);
    return state;
  }
}
