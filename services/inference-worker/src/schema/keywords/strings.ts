import { CHARACTERS_PER_STEP } from "../validation.ts";
import { isCount } from "../json-type.ts";
import { matchesPattern } from "../match-pattern.ts";
import type { Keyword, Place } from "./keyword.ts";

/** About as much as one step. */

/** What is said of strings. */
export const STRING_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minLength: ofLength((length, limit) => length >= limit),
  maxLength: ofLength((length, limit) => length <= limit),
  pattern(setting, value, { validation }) {
    if (typeof value !== "string") return true;
    return typeof setting === "string" ? matchesPattern(setting, value, validation) : undefined;
  },
  // An annotation or an assertion, as each engine has it.
  format: (_, value) => (typeof value === "string" ? undefined : true),
};

/** In code points, as JSON Schema counts. */
function ofLength(holds: (length: number, limit: number) => boolean): Keyword {
  return (setting, value, place) => {
    if (typeof value !== "string") return true;
    return isCount(setting) ? holds(lengthOf(value, place), setting) : undefined;
  };
}

function lengthOf(text: string, { validation }: Place): number {
  validation.spend(text.length / CHARACTERS_PER_STEP);
  let length = 0;
  for (const _ of text) length++;
  return length;
}
