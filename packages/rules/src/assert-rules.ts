import { MODERATION_LIMITS, type ModerationRule, RepriseError } from "@reprise/protocol";
import { RE2JSException } from "re2js";
import { SymbolBuffer } from "./scanning/symbol-buffer.ts";
import { type PatternRule, tenantNfa } from "./shapes/tenant-shape.ts";
import { termSymbols } from "./scanning/term-trie.ts";

/** A pattern's instructions times its longest match: what one character of a text made for it can cost. */
const MOST_PATTERN_COST = 32_768;

/** What a list of rules may have together. Default: no limit but each rule's own. */
export interface RuleLimits {
  /** Characters of all terms. */
  readonly termsLength?: number;
  /** Instructions times the longest match, of all patterns. */
  readonly patternCost?: number;
}

/**
 * Checks what a schema can't: that every term has something to look for, and that every pattern compiles and can be afforded.
 * @param param where the rules stand, such as `policy.moderation.rules`
 * @throws RepriseError `invalid_request` that names the first bad rule by its path: `policy.moderation.rules.3.pattern`
 */
export function assertRules(
  rules: readonly ModerationRule[],
  param: string,
  { termsLength = Number.POSITIVE_INFINITY, patternCost = Number.POSITIVE_INFINITY }: RuleLimits = {},
): void {
  let [length, cost] = [0, 0];
  for (const [index, rule] of rules.entries()) {
    if (typeof rule === "string") continue;
    if ("pattern" in rule) {
      cost += assertPattern(rule, `${param}.${index}.pattern`);
      if (cost > patternCost)
        refuse(
          `${param}.${index}.pattern`,
          `makes ${cost} instructions times max_length of all patterns; there may be ${patternCost} at most`,
        );
    }
    if (!("terms" in rule)) continue;
    length += rule.terms.reduce((sum, term) => sum + term.length, 0);
    if (length > termsLength)
      refuse(
        `${param}.${index}.terms`,
        `makes ${length} characters of all terms; there may be ${termsLength} at most`,
      );
    // Only here: the first one in a process makes the fold tables, which takes some 80 ms.
    const buffer = new SymbolBuffer();
    for (const [at, term] of rule.terms.entries())
      if (termSymbols(term, buffer).length === 0)
        refuse(`${param}.${index}.terms.${at}`, `${JSON.stringify(term)} has no character that counts`);
  }
}

/** @returns what it costs */
function assertPattern(rule: PatternRule, param: string): number {
  const length = rule.max_length ?? MODERATION_LIMITS.defaultMatchLength;
  const nfa = compile(rule, param);
  if (!nfa.consumes) refuse(param, "matches no text but the empty one");
  if (nfa.size * length > MOST_PATTERN_COST)
    refuse(
      param,
      `has ${nfa.size} instructions for matches of up to ${length} characters; their product may be ${MOST_PATTERN_COST} at most`,
    );
  return nfa.size * length;
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
