import type { RuleLabel } from "./finding.ts";
import { LazyDfa } from "./lazy-dfa.ts";
import type { Meter } from "./meter.ts";
import type { Nfa } from "./nfa.ts";
import { type Side, type SideRule, SIDES, SIGN } from "./side.ts";

/** Number of patterns in a bank: a bit each. */
export const BANK_SIZE = 31;

/** The symbols that tables are made for. */
export const ASCII = 0x80;

/** Number of symbols before a match that its check gets. */
export const CONTEXT = 24;

/** A rule for a form: a pattern in RE2 syntax, and a check for the conditions that a pattern can't express. */
export interface Shape {
  readonly label: RuleLabel;
  readonly nfa: Nfa;
  /** The longest match, in symbols. */
  readonly maxLength: number;
  /**
   * Checks a match of the pattern, such as by its check digits.
   * @param before the text right before it, at most `CONTEXT` symbols
   * @returns the length of its beginning that counts, 0 for nothing; the search continues after it
   */
  readonly check?: ((text: string, before: string) => number) | undefined;
}

/** A shape with the automaton that its texts share. */
export interface BankShape extends Omit<Shape, "nfa"> {
  readonly dfa: LazyDfa;
}

/** A shape that is ready for a bank. */
export interface PreparedShape extends Shape {
  readonly dfa: LazyDfa;
}

export function prepareShape(shape: Shape, sideOf: SideRule, meter: Meter): PreparedShape {
  return { ...shape, dfa: new LazyDfa(shape.nfa, sideOf, meter) };
}

/** Up to 31 shapes with one table that says which of them may begin at a symbol: those that can't cost nothing. */
export class PatternBank {
  readonly shapes: readonly BankShape[];
  /** The shapes that may begin at an ASCII symbol, a bit each: indexed by the side before, times `ASCII`, plus the symbol. */
  readonly begins = new Int32Array(SIDES.length * ASCII);
  /** The side of an ASCII symbol towards the next symbol, by the same index. */
  readonly sides = new Uint8Array(SIDES.length * ASCII);
  readonly sideOf: SideRule;
  readonly meter: Meter;
  /** The shapes that may begin with a symbol beyond ASCII, and perhaps more. */
  readonly #beginsRare: number;
  /** The shapes that may begin with a letter or digit that was folded from a sign, and perhaps more. */
  readonly #beginsSign: number;

  constructor(shapes: readonly PreparedShape[], sideOf: SideRule, meter: Meter) {
    this.sideOf = sideOf;
    this.meter = meter;
    this.shapes = shapes.map(({ nfa: _nfa, ...shape }) => shape);
    let rare = 0;
    for (const [at, { nfa }] of shapes.entries()) if (nfa.beginsBeyondAscii) rare |= 1 << at;
    let sign = rare;
    for (const side of SIDES)
      for (let symbol = 0; symbol < ASCII; symbol++) {
        const index = side * ASCII + symbol;
        for (const [at, { dfa }] of this.shapes.entries())
          if (dfa.begins(side, symbol, meter)) (this.begins[index] as number) |= 1 << at;
        this.sides[index] = sideOf(side, symbol);
        sign |= this.begins[index] as number;
      }
    this.#beginsRare = rare;
    this.#beginsSign = sign;
  }

  /** `begins` for a symbol beyond ASCII. */
  beginsBeyond(symbol: number): number {
    return symbol >= SIGN ? this.#beginsSign : this.#beginsRare;
  }

  /** `sideOf`, by table. */
  sideBehind(before: Side, symbol: number): Side {
    return symbol < ASCII ? (this.sides[before * ASCII + symbol] as Side) : this.sideOf(before, symbol);
  }
}
