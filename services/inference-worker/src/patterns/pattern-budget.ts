import { schemaPatternCost } from "@reprise/protocol";
import { RE2JS } from "re2js";

/** Patterns may cost this much in one validation: some 60 ms, in which the worker does nothing else. */
const MOST_WORK = 800_000;
/** Steps to compile one instruction. */
const COMPILE_WORK = 64;

/**
 * Searches texts for the patterns of one validation, for any validator: all of them together do a bounded amount of work. A text times
 * the instructions of its pattern is what a search takes at worst; the length of a pattern's source says nothing of it.
 */
export class PatternBudget {
  readonly #programs = new Map<string, Program>();
  #left = MOST_WORK;

  /** Steps of all searches so far. */
  get spent(): number {
    return MOST_WORK - this.#left;
  }

  /** @returns undefined where RE2 can't read the pattern, and where the search would exceed the budget: then it is not begun */
  search(pattern: string, text: string): boolean | undefined {
    const program = this.#programs.get(pattern) ?? this.#compile(pattern);
    if (program.regex === undefined || !this.#spend(program.cost * (text.length + 1))) return undefined;
    return program.regex.matcher(text).find();
  }

  #compile(pattern: string): Program {
    const cost = schemaPatternCost(pattern);
    const regex = this.#spend(cost * COMPILE_WORK) ? compile(pattern) : undefined;
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
