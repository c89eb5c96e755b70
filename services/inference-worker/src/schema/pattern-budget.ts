import { schemaPatternCost } from "@reprise/protocol";
import { RE2JS } from "re2js";

/** Limit of one validation's patterns: some 60 ms, in which the worker does nothing else. */
const MOST_WORK = 800_000;
/** Steps to compile one instruction. */
const COMPILE_WORK = 64;

/**
 * Constructs that RE2 and ECMA-262 read differently or that only one of them has: look-around, back-references, flags and names of groups,
 * POSIX classes, classes that are empty or begin with their bracket, and most letters after a backslash.
 */
const DIFFERENT = /\(\?(?!:)|\[:|\[\^?\]|\\[^dDwWsSbBnrtfv\p{P}\p{S}]/u;
/** RE2 and ECMA-262 read `.` and `\s` differently in texts that have such characters. */
const MEANS_BLANKS = /[.]|\\[sS]/;
const DIFFERENT_BLANKS = /[^\S \t\n\f]|\u0085/;

/**
 * Searches texts for the patterns of one validation in RE2, whose time is linear in the text. All patterns together do a bounded amount of
 * work: a search takes at worst the length of the text times the instructions of the pattern.
 */
export class PatternBudget {
  readonly #programs = new Map<string, Program>();
  #left = MOST_WORK;

  /** Steps of all searches so far. */
  get spent(): number {
    return MOST_WORK - this.#left;
  }

  /** @returns undefined, without a search, if RE2 can't read the pattern or might read it differently, or the search would exceed the budget */
  search(pattern: string, text: string): boolean | undefined {
    const program = this.#programs.get(pattern) ?? this.#compile(pattern);
    if (!text.isWellFormed() || (MEANS_BLANKS.test(pattern) && DIFFERENT_BLANKS.test(text))) return undefined;
    if (program.regex === undefined || !this.#spend(program.cost * (text.length + 1))) return undefined;
    return program.regex.matcher(text).find();
  }

  #compile(pattern: string): Program {
    const cost = schemaPatternCost(pattern);
    const isAlike = pattern.isWellFormed() && !DIFFERENT.test(pattern);
    const regex = isAlike && this.#spend(cost * COMPILE_WORK) ? compile(pattern) : undefined;
    const program = { cost, regex };
    this.#programs.set(pattern, program);
    return program;
  }

  #spend(work: number): boolean {
    if (work > this.#left) return false;
    this.#left -= work;
    return true;
  }
}

interface Program {
  readonly cost: number;
  /** Undefined: not to be run. */
  readonly regex: RE2JS | undefined;
}

function compile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}
