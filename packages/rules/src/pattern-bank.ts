import type { RuleLabel } from "./finding.ts";
import { LazyDfa } from "./lazy-dfa.ts";
import { type Nfa, SIDE, type Side, sideOf } from "./nfa.ts";

/** How many patterns a bank holds: a bit each. */
export const BANK_SIZE = 31;

/** The symbols that tables are made for. */
export const ASCII = 0x80;

/** What is found by its form: a pattern in RE2 syntax, and what it can't say. */
export interface Shape {
  readonly label: RuleLabel;
  readonly nfa: Nfa;
  /** The longest match, in symbols. */
  readonly maxLength: number;
  /**
   * Looks at a match of the pattern, such as by its check digits.
   * @returns how much of its beginning counts, 0 for nothing; the search goes on at what comes after it
   */
  readonly check?: ((text: string) => number) | undefined;
}

/** A shape with the automaton that its texts share. */
export interface BankShape extends Omit<Shape, "nfa"> {
  readonly dfa: LazyDfa;
}

/** Up to 31 shapes with one table that says which of them may begin at a symbol: those that can't cost nothing. */
export class PatternBank {
  readonly shapes: readonly BankShape[];
  /** The shapes that may begin at an ASCII symbol, a bit each: by what stands before, times `ASCII`, plus the symbol. */
  readonly begins = new Int32Array(4 * ASCII);
  /** The shapes that may begin with a symbol beyond ASCII, and perhaps more. */
  readonly beginsRare: number;

  constructor(shapes: readonly Shape[]) {
    this.shapes = shapes.map(({ nfa, ...shape }) => ({ ...shape, dfa: new LazyDfa(nfa) }));
    let rare = 0;
    for (const [at, { nfa }] of shapes.entries()) if (nfa.beginsBeyondAscii) rare |= 1 << at;
    this.beginsRare = rare;
    for (const side of Object.values(SIDE))
      for (let symbol = 0; symbol < ASCII; symbol++)
        for (const [at, { dfa }] of this.shapes.entries())
          if (dfa.begins(side, symbol)) (this.begins[side * ASCII + symbol] as number) |= 1 << at;
  }
}

const SIDES = Uint8Array.from({ length: ASCII }, (_, symbol) => sideOf(symbol));

/** `sideOf`, by table. */
export function sideBefore(symbol: number): Side {
  return symbol < ASCII ? (SIDES[symbol] as Side) : SIDE.other;
}
