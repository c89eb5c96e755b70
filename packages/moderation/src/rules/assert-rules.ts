import { MODERATION_LIMITS, type ModerationRule, pricePattern, RepriseError } from "@reprise/protocol";
import { RE2JSException } from "re2js";
import { LazyDfa, MOST_STATES } from "./scanning/lazy-dfa.ts";
import { Meter } from "./scanning/meter.ts";
import { re2Side } from "./scanning/side.ts";
import { SymbolBuffer } from "./scanning/symbol-buffer.ts";
import { termSymbols } from "./scanning/term-trie.ts";
import { type PatternRule, tenantNfa } from "./shapes/tenant-shape.ts";

/** A pattern's instructions times its longest match: what one character of a text made for it could cost while its automaton is made. */
const MOST_PATTERN_COST = 32_768;
/** Steps that are compiled in one go, while others wait. */
const MOST_STATES_OF_PATTERN = 1_024;
/** Steps to make the automata of all patterns of a list, at most: some tens of milliseconds. */
const MOST_AUTOMATA_STEPS = 4_000_000;

/** Limits of a list of rules as a whole. Default: a policy's. */
export interface RuleLimits {
  /** Characters of all terms. */
  readonly termsLength: number;
  /** Instructions times the longest match, of all patterns. */
  readonly patternCost: number;
  /** Instructions that all patterns compile to. */
  readonly patternSize: number;
  /** Symbols that all patterns together may read for each character of a text. */
  readonly matchLength: number;
}

/** Limits of the rules of a tenant's policy. */
const POLICY_LIMITS: RuleLimits = {
  termsLength: Number.POSITIVE_INFINITY,
  patternCost: Number.POSITIVE_INFINITY,
  patternSize: MODERATION_LIMITS.patternSize,
  matchLength: MODERATION_LIMITS.patternMatchLength,
};

/** Limits of the rules that a request brings. */
export const REQUEST_RULE_LIMITS: RuleLimits = {
  termsLength: MODERATION_LIMITS.requestTermsLength,
  patternCost: MODERATION_LIMITS.requestPatternCost,
  patternSize: MODERATION_LIMITS.requestPatternSize,
  matchLength: MODERATION_LIMITS.requestMatchLength,
};

/**
 * Checks the future cost of rules, by their source alone: nothing is compiled, so this check comes first.
 * @param param path of the rules, such as `policy.moderation.rules`
 * @throws RepriseError `invalid_request` that names the first rule over a limit by its path, its cost and the limit
 */
export function priceRules(rules: readonly ModerationRule[], param: string, limits = POLICY_LIMITS): void {
  let [termsLength, patternCost, patternSize, matchLength] = [0, 0, 0, 0];
  for (const [index, rule] of rules.entries()) {
    if (typeof rule === "string") continue;
    if ("terms" in rule) {
      termsLength += rule.terms.reduce((sum, term) => sum + term.length, 0);
      atMost(`${param}.${index}.terms`, "characters of all terms", termsLength, limits.termsLength);
    }
    if (!("pattern" in rule)) continue;
    const at = `${param}.${index}.pattern`;
    const { states, length, size, read } = priceRule(rule);
    if (states > MOST_STATES_OF_PATTERN)
      refuse(at, `has ${states} instructions; there may be ${MOST_STATES_OF_PATTERN} at most`);
    if (states * length > MOST_PATTERN_COST)
      refuse(
        at,
        `has ${states} instructions for matches of up to ${length} characters; their product may be ${MOST_PATTERN_COST} at most`,
      );
    patternCost += states * length;
    patternSize += size;
    matchLength += read;
    atMost(at, "instructions times max_length of all patterns", patternCost, limits.patternCost);
    atMost(at, "instructions of all patterns", patternSize, limits.patternSize);
    atMost(at, "characters of the longest matches of all patterns", matchLength, limits.matchLength);
  }
}

/** @returns what one character of a text may take of these rules' patterns, in symbols that are read */
export function matchLengthOf(rules: readonly ModerationRule[]): number {
  let sum = 0;
  for (const rule of rules) if (typeof rule !== "string" && "pattern" in rule) sum += priceRule(rule).read;
  return sum;
}

function priceRule(rule: PatternRule): { states: number; length: number; size: number; read: number } {
  const length = rule.max_length ?? MODERATION_LIMITS.defaultMatchLength;
  const { states, classWeight, longest } = pricePattern(rule.pattern);
  return { states, length, size: Math.ceil(states + classWeight), read: Math.min(length, longest + 1) };
}

function atMost(param: string, of: string, sum: number, limit: number): void {
  if (sum > limit) refuse(param, `makes ${sum} ${of}; there may be ${limit} at most`);
}

/**
 * Checks what only compiling shows: that every term has something to look for, and that every pattern has an automaton that can be afforded.
 * Yields the steps that it has taken since it last did, so that the caller can cut it into slices. `priceRules` is to be asked before.
 * @throws RepriseError `invalid_request` that names the first bad rule by its path: `policy.moderation.rules.3.pattern`
 */
export function* checkingRules(rules: readonly ModerationRule[], param: string): Generator<number, void> {
  const meter = new Meter();
  for (const [index, rule] of rules.entries()) {
    if (typeof rule === "string") continue;
    if ("pattern" in rule) yield* checkingPattern(rule, `${param}.${index}.pattern`, meter);
    if (!("terms" in rule)) continue;
    // Only here: the first one in a process makes the fold tables, which takes some 80 ms.
    const buffer = new SymbolBuffer();
    let steps = 0;
    for (const [at, term] of rule.terms.entries()) {
      if (termSymbols(term, buffer).length === 0)
        refuse(`${param}.${index}.terms.${at}`, `${JSON.stringify(term)} has no character that counts`);
      steps += CHECK_STEPS_PER_TERM + CHECK_STEPS_PER_LETTER * term.length;
      if (steps < CHECK_STEPS_AT_ONCE) continue;
      yield steps;
      steps = 0;
    }
    yield steps;
  }
}

const CHECK_STEPS_PER_TERM = 50;
const CHECK_STEPS_PER_LETTER = 5;
const CHECK_STEPS_AT_ONCE = 60_000;
/** Steps to compile one instruction. */
export const STEPS_PER_INSTRUCTION = 200;

/** @param meter of all patterns of the list */
function* checkingPattern(rule: PatternRule, param: string, meter: Meter): Generator<number, void> {
  const nfa = compile(rule, param);
  yield priceRule(rule).size * STEPS_PER_INSTRUCTION;
  if (!nfa.consumes) refuse(param, "matches no text but the empty one");
  const dfa = new LazyDfa(nfa, re2Side, meter);
  const exploring = dfa.explore(meter);
  let { steps } = meter;
  yield steps;
  for (;;) {
    const { done, value: fits } = exploring.next();
    if (done && !fits)
      refuse(
        param,
        `may be in more than ${MOST_STATES} states after one text or another: it has counted repetitions after loops, or many of them`,
      );
    if (meter.steps > MOST_AUTOMATA_STEPS)
      refuse(param, `makes more than ${MOST_AUTOMATA_STEPS} steps to build the automata of all patterns`);
    if (!done && meter.steps - steps < CHECK_STEPS_AT_ONCE) continue;
    yield meter.steps - steps;
    ({ steps } = meter);
    if (done) return;
  }
}

/**
 * `priceRules` and `checkingRules` at once, for who may take as long as they do.
 * @throws RepriseError `invalid_request` that names the first bad rule by its path
 */
export function assertRules(rules: readonly ModerationRule[], param: string, limits = POLICY_LIMITS): void {
  priceRules(rules, param, limits);
  for (const _ of checkingRules(rules, param));
}

function compile(rule: PatternRule, param: string): ReturnType<typeof tenantNfa> {
  try {
    return tenantNfa(rule);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return refuse(param, error.message, error);
  }
}

function refuse(param: string, what: string, cause?: unknown): never {
  throw new RepriseError("invalid_request", `${param}: ${what}`, { param, cause });
}
