import { ANYWHERE, flagsBetween, type Nfa } from "./nfa.ts";
import { codePointOf, SIDE, type Side, type SideRule, SIDES } from "./side.ts";

/** More states than this, and the ones that were made are forgotten and made again when needed. */
const MOST_STATES = 1_000;
const MOST_RARE_STEPS = 256;
const ASCII = 0x80;
const NO_STEPS: readonly undefined[] = Array.from({ length: ASCII });

/** What a run of a pattern from one place can still become. */
export interface DfaState {
  /** Instructions reached by the last character, before what needs no character is followed. */
  readonly reached: readonly number[];
  readonly before: Side;
  /** A match ended right before the last character: an assertion asked what that would be. */
  readonly matchedBefore: boolean;
  /** A match ends here, before any next symbol. */
  readonly matches: boolean;
  /** Whether a match ends here depends on what follows. */
  readonly asks: boolean;
  /** A further character may lead to a match, or decide on one that ends here. */
  readonly open: boolean;
  readonly ascii: (DfaState | undefined)[];
  readonly rare: Map<number, DfaState>;
}

/**
 * A pattern's runs as a deterministic automaton, made as texts need it. States are objects and keep what they are made from, so
 * forgetting the table never takes a state away from a text that stands in it.
 */
export class LazyDfa {
  readonly #nfa: Nfa;
  readonly #sideOf: SideRule;
  readonly #states = new Map<string, DfaState>();
  #starts: readonly DfaState[];
  readonly #begins: Uint8Array;

  constructor(nfa: Nfa, sideOf: SideRule) {
    this.#nfa = nfa;
    this.#sideOf = sideOf;
    this.#starts = this.#makeStarts();
    this.#begins = new Uint8Array(SIDES.length * ASCII);
    for (const side of SIDES)
      for (let symbol = 0; symbol < ASCII; symbol++)
        this.#begins[side * ASCII + symbol] = this.#leads(this.step(this.start(side), symbol)) ? 1 : 0;
  }

  start(before: Side): DfaState {
    return this.#starts[before] as DfaState;
  }

  /** Whether a match may begin with this symbol. */
  begins(before: Side, symbol: number): boolean {
    if (symbol < ASCII) return this.#begins[before * ASCII + symbol] === 1;
    return this.#leads(this.step(this.start(before), symbol));
  }

  /** Whether no match begins with `first` when `second` follows it. */
  failsWith(before: Side, first: number, second: number): boolean {
    const two = this.step(this.step(this.start(before), first), second);
    return !two.matchedBefore && !this.#leads(two);
  }

  step(state: DfaState, symbol: number): DfaState {
    if (symbol < ASCII) return (state.ascii[symbol] ??= this.#stepFrom(state, symbol));
    const known = state.rare.get(symbol);
    if (known !== undefined) return known;
    if (state.rare.size >= MOST_RARE_STEPS) state.rare.clear();
    const next = this.#stepFrom(state, symbol);
    state.rare.set(symbol, next);
    return next;
  }

  /** Whether a match ends where the text does. */
  matchesAtEnd(state: DfaState): boolean {
    return this.#nfa.closure(state.reached, flagsBetween(state.before, SIDE.edge)).matches;
  }

  #makeStarts(): readonly DfaState[] {
    return SIDES.map((side) => this.#make([this.#nfa.start], side, false));
  }

  /** Takes the states apart, so that a text which stands in one keeps no other alive. */
  #forget(): void {
    for (const { ascii, rare } of this.#states.values()) {
      ascii.fill(undefined);
      rare.clear();
    }
    this.#states.clear();
    this.#starts = this.#makeStarts();
  }

  #leads({ open, matches }: DfaState): boolean {
    return open || matches;
  }

  #stepFrom(state: DfaState, symbol: number): DfaState {
    const after = this.#sideOf(state.before, symbol);
    const here = this.#nfa.closure(state.reached, flagsBetween(state.before, after));
    return this.#make(this.#nfa.step(here.waiting, codePointOf(symbol)), after, here.matches);
  }

  #make(reached: readonly number[], before: Side, matchedBefore: boolean): DfaState {
    const key = `${before},${matchedBefore},${reached.join()}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    if (this.#states.size >= MOST_STATES) this.#forget();
    const sure = this.#nfa.closure(reached, 0);
    const possible = this.#nfa.closure(reached, ANYWHERE);
    const asks = possible.matches && !sure.matches;
    const state: DfaState = {
      reached,
      before,
      matchedBefore,
      matches: sure.matches,
      asks,
      open: asks || possible.waiting.length > 0,
      ascii: NO_STEPS.slice(),
      rare: new Map(),
    };
    this.#states.set(key, state);
    return state;
  }
}
