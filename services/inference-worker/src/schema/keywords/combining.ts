import type { JsonValue } from "@reprise/protocol";
import { all, any, countWithin, type Fit, not } from "../fit.ts";
import type { Keyword, Place } from "./keyword.ts";

/** Schemas made of schemas. */
export const COMBINING_KEYWORDS: Readonly<Record<string, Keyword>> = {
  allOf: ofSchemas(all),
  anyOf: ofSchemas(any),
  oneOf: ofSchemas((fits) => countWithin(fits, 1, 1)),
  not: (setting, value, { validation, check }) => not(check(setting, value, validation)),
  if(setting, value, { schema, validation, check }) {
    const branch = (name: string) => {
      const chosen = schema[name];
      return chosen === undefined ? true : check(chosen, value, validation);
    };
    const isMet = check(setting, value, validation);
    if (isMet !== undefined) return branch(isMet ? "then" : "else");
    const [met, unmet] = [branch("then"), branch("else")];
    return met === unmet ? met : undefined;
  },
};

function ofSchemas(combine: (fits: Iterable<Fit>) => Fit): Keyword {
  return (setting: JsonValue, value: JsonValue, { validation, check }: Place) => {
    if (!Array.isArray(setting) || setting.length === 0) return undefined;
    return combine(setting.values().map((schema) => check(schema, value, validation)));
  };
}
