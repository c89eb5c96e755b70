import { RE2JS } from "re2js";
import { isBoundary, SIDE, type Side } from "./side.ts";

/** An instruction of re2js's compiled program, which its types leave open. */
interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
  matchRune(codePoint: number): boolean;
}

const OP = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  any: 10,
  anyButNewline: 11,
};
const NEWLINE = 10;
/** On an instruction of one letter: any case of it. */
const FOLD_CASE = 1;

/** Steps of a walk for one instruction. */
const STEPS_PER_VISIT = 4;
const LAST_CODE_POINT = 0x10_ff_ff;
/** Letters beyond ASCII that are s and k in another case. */
const ODD_FOLDS = [0x1_7f, 0x21_2a];

/** The conditions of empty-width instructions on the place between two characters; re2js's bits. */
const AT = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, boundary: 16, noBoundary: 32 };
/** Passes every empty-width instruction: for what may be reached before any next symbol. */
export const ANYWHERE = 0xff;

/** Where a set of instructions leads to without a character. */
export interface Closure {
  /** Instructions that wait for a character. */
  readonly waiting: readonly number[];
  readonly matches: boolean;
}

/** A pattern's program, from re2js's compiler: linear, without look-around and backreferences. */
export class Nfa {
  readonly start: number;
  readonly size: number;
  /** True if any match looks at the characters before or after a place. */
  readonly asserts: boolean;
  /** Steps of all walks so far, as a meter counts. */
  steps = 0;
  readonly #instructions: readonly Instruction[];
  /** By instruction: the number of the last walk that came by. */
  readonly #seen: Float64Array;
  #stamp = 0;

  /** @throws re2js's syntax error where `pattern` is not RE2 syntax */
  constructor(pattern: string, flags: number) {
    // The program is re2js's own, but not private: `re2().prog` is how its test suite reads it.
    const program = (RE2JS.compile(pattern, flags) as unknown as { re2(): { prog: Program } }).re2().prog;
    this.#instructions = program.inst;
    this.start = program.start;
    this.size = program.inst.length;
    this.asserts = program.inst.some(({ op }) => op === OP.emptyWidth);
    this.#seen = new Float64Array(this.size);
  }

  /** True if a match can have a character at all. */
  get consumes(): boolean {
    return this.closure([this.start], ANYWHERE).waiting.length > 0;
  }

  /** True if a match may begin with a character beyond ASCII. True in doubt. */
  get beginsBeyondAscii(): boolean {
    return this.closure([this.start], ANYWHERE).waiting.some((pc) => {
      const { op, arg, runes } = this.#instructions[pc] as Instruction;
      return op >= OP.any || (arg & FOLD_CASE) !== 0 || Array.from(runes).some((rune) => rune >= 0x80);
    });
  }

  /** One instruction of each kind that waits for a character: what they all say of a character is all that the program can tell of it. */
  get #kinds(): readonly Instruction[] {
    const kinds = new Map<unknown, Instruction>();
    for (const instruction of this.#instructions) {
      const { op, arg, runes } = instruction;
      if (op < OP.rune) continue;
      const isClass = op < OP.any && runes.length > 1;
      const kind = op >= OP.any ? -op : isClass ? runes : 2 * (runes[0] as number) + (arg & FOLD_CASE);
      kinds.set(kind, instruction);
    }
    return [...kinds.values()];
  }

  /** Tells characters apart by what they do in the program: those with the same text do the same. */
  createColumns(): (codePoint: number) => string {
    const kinds = this.#kinds;
    return (codePoint) => {
      this.steps += kinds.length * STEPS_PER_VISIT;
      let bits = "";
      for (const kind of kinds) bits += accepts(kind, codePoint) ? "1" : "0";
      return bits;
    };
  }

  /** Some characters beyond ASCII, where something may begin or end in the program. */
  *edgesBeyondAscii(): Generator<number> {
    for (const { op, runes } of this.#kinds)
      for (const rune of Array.from(op >= OP.any ? [] : runes)) {
        const text = String.fromCodePoint(rune);
        for (const form of [text, text.toLowerCase(), text.toUpperCase()]) yield form.codePointAt(0) ?? rune;
        if (rune < LAST_CODE_POINT) yield rune + 1;
      }
    yield* ODD_FOLDS;
    yield LAST_CODE_POINT;
  }

  /** Follows what needs no character, at a place for which `flags` are true. */
  closure(from: readonly number[], flags: number): Closure {
    const stamp = ++this.#stamp;
    const seen = this.#seen;
    const waiting: number[] = [];
    let matches = false;
    const stack = from.slice();
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (seen[pc] === stamp) continue;
      seen[pc] = stamp;
      this.steps += STEPS_PER_VISIT;
      const { op, out, arg } = this.#instructions[pc] as Instruction;
      if (op === OP.alt || op === OP.altMatch) stack.push(out, arg);
      else if (op === OP.capture || op === OP.nop) stack.push(out);
      else if (op === OP.emptyWidth && (arg & ~flags) === 0) stack.push(out);
      else if (op === OP.match) matches = true;
      else if (op >= OP.rune) waiting.push(pc);
    }
    return { waiting, matches };
  }

  /** @returns where the waiting instructions go with this character, in ascending order */
  step(waiting: readonly number[], codePoint: number): number[] {
    const stamp = ++this.#stamp;
    const seen = this.#seen;
    const next: number[] = [];
    this.steps += waiting.length * STEPS_PER_VISIT;
    for (const pc of waiting) {
      const instruction = this.#instructions[pc] as Instruction;
      if (seen[instruction.out] === stamp || !accepts(instruction, codePoint)) continue;
      seen[instruction.out] = stamp;
      next.push(instruction.out);
    }
    return next.toSorted((a, b) => a - b);
  }
}

interface Program {
  readonly inst: readonly Instruction[];
  readonly start: number;
}

/** Returns the conditions that hold at the place between two characters. */
export function flagsBetween(before: Side, after: Side): number {
  let flags = isBoundary(before, after) ? AT.boundary : AT.noBoundary;
  if (before === SIDE.edge) flags |= AT.beginText | AT.beginLine;
  if (before === SIDE.newline) flags |= AT.beginLine;
  if (after === SIDE.edge) flags |= AT.endText | AT.endLine;
  if (after === SIDE.newline) flags |= AT.endLine;
  return flags;
}

function accepts(instruction: Instruction, codePoint: number): boolean {
  if (instruction.op === OP.any) return true;
  if (instruction.op === OP.anyButNewline) return codePoint !== NEWLINE;
  return instruction.matchRune(codePoint);
}
