import { MODERATION_LIMITS, type ModerationRule, RepriseError } from "@reprise/protocol";
import { RE2JSException } from "re2js";
import { SymbolBuffer } from "./symbol-buffer.ts";
import { type PatternRule, tenantNfa } from "./tenant-shape.ts";
import { termSymbols } from "./term-trie.ts";

/** A pattern's instructions times its longest match: what one character of a text made for it can cost. */
const MOST_PATTERN_COST = 32_768;

/**
 * Checks what a schema can't: that every term has something to look for, and that every pattern compiles and can be afforded.
 * @param param where the rules stand, such as `policy.moderation.rules`
 * @throws RepriseError `invalid_request` that names the first bad rule by its path: `policy.moderation.rules.3.pattern`
 */
export function assertRules(rules: readonly ModerationRule[], param: string): void {
  const buffer = new SymbolBuffer();
  for (const [index, rule] of rules.entries()) {
    if (typeof rule === "string") continue;
    if ("pattern" in rule) assertPattern(rule, `${param}.${index}.pattern`);
    if (!("terms" in rule)) continue;
    for (const [at, term] of rule.terms.entries())
      if (termSymbols(term, buffer).length === 0)
        refuse(`${param}.${index}.terms.${at}`, `${JSON.stringify(term)} has no character that counts`);
  }
}

function assertPattern(rule: PatternRule, param: string): void {
  const length = rule.max_length ?? MODERATION_LIMITS.defaultMatchLength;
  const nfa = compile(rule, param);
  if (!nfa.consumes) refuse(param, "matches no text but the empty one");
  if (nfa.size * length > MOST_PATTERN_COST)
    refuse(
      param,
      `has ${nfa.size} instructions for matches of up to ${length} characters; their product may be ${MOST_PATTERN_COST} at most`,
    );
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
