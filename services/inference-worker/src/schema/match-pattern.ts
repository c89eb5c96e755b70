import type { Fit } from "./fit.ts";
import { CHARACTERS_PER_STEP, type Validation } from "./validation.ts";

const MAX_PATTERN_LENGTH = 512;

/**
 * What RE2 and ECMA-262 read alike: no look-around, no back-references, no flags or names of groups, no POSIX classes, no class that is
 * empty or begins with its bracket, and behind a backslash only signs, `d`, `w`, `s`, `b` and the usual white space.
 */
const DIFFERENT = /\(\?(?!:)|\[:|\[\^?\]|\\[^dDwWsSbBnrtfv\p{P}\p{S}]/u;
/** In the text what `.` and `\s` mean one thing for in RE2, and another in ECMA-262. */
const MEANS_BLANKS = /[.]|\\[sS]/;
const DIFFERENT_BLANKS = /[^\S \t\n\f]|\u0085/;

/**
 * Whether a text has a match of a schema's pattern, in time that is linear in the text: a tenant's pattern never runs in V8's engine. Undefined where RE2
 * can't read the pattern, or might read it in another way, and where the patterns' budget is spent.
 * @throws ValidationSpent
 */
export function matchesPattern(pattern: string, text: string, validation: Validation): Fit {
  // Patterns that are not tried cost their search, too.
  validation.spend(1 + Math.min(pattern.length, MAX_PATTERN_LENGTH) / CHARACTERS_PER_STEP);
  if (pattern.length > MAX_PATTERN_LENGTH || DIFFERENT.test(pattern)) return undefined;
  if (!text.isWellFormed() || !pattern.isWellFormed()) return undefined;
  validation.spend(text.length / CHARACTERS_PER_STEP);
  if (MEANS_BLANKS.test(pattern) && DIFFERENT_BLANKS.test(text)) return undefined;
  return validation.patterns.search(pattern, text);
}
