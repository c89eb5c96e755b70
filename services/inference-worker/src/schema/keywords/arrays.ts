import { CHARACTERS_PER_STEP } from "../validation.ts";
import type { JsonValue } from "@reprise/protocol";
import { all, countWithin, type Fit } from "../fit.ts";
import { isCount, isJsonObject } from "../json-type.ts";
import { type Keyword, leftOpen, type Place } from "./keyword.ts";

/** About as much as one step. */

/** What is said of arrays. */
export const ARRAY_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minItems: ofArrays((setting, value) => (isCount(setting) ? value.length >= setting : undefined)),
  maxItems: ofArrays((setting, value) => (isCount(setting) ? value.length <= setting : undefined)),
  uniqueItems: ofArrays((setting, value, place) => {
    if (setting !== true) return setting === false ? true : undefined;
    return new Set(value.map((part) => canonical(part, place))).size === value.length;
  }),
  prefixItems: ofArrays(checkEach),
  items: ofArrays((setting, value, place) => {
    // A list is what `prefixItems` is from 2020-12 on.
    if (Array.isArray(setting)) return checkEach(setting, value, place);
    return checkRest(setting, value, place, "prefixItems");
  }),
  additionalItems: ofArrays((setting, value, place) =>
    Array.isArray(place.schema["items"]) ? checkRest(setting, value, place, "items") : true,
  ),
  contains: ofArrays((setting, value, { schema, validation, check }) => {
    const { minContains: least = 1, maxContains: most = Infinity } = schema;
    if (!isCount(least) || (most !== Infinity && !isCount(most))) return undefined;
    const fit = countWithin(
      value.values().map((part) => check(setting, part, validation)),
      least,
      most,
    );
    // Before 2019-09 the two say nothing.
    return fit === false && (schema["minContains"] ?? schema["maxContains"]) !== undefined ? undefined : fit;
  }),
  unevaluatedItems: leftOpen,
};

function ofArrays(keyword: (setting: JsonValue, value: JsonValue[], place: Place) => Fit): Keyword {
  return (setting, value, place) => (Array.isArray(value) ? keyword(setting, value, place) : true);
}

/** Each schema of a list against the item in its place. */
function checkEach(schemas: JsonValue, value: JsonValue[], { validation, check }: Place): Fit {
  if (!Array.isArray(schemas)) return undefined;
  return all(
    value
      .values()
      .take(schemas.length)
      .map((part, i) => check(schemas[i], part, validation)),
  );
}

/** All items behind those that have a schema of their own. */
function checkRest(setting: JsonValue, value: JsonValue[], place: Place, own: string): Fit {
  const { schema, validation, check } = place;
  const before = schema[own];
  const from = Array.isArray(before) ? before.length : 0;
  return all(
    value
      .values()
      .drop(from)
      .map((part) => check(setting, part, validation)),
  );
}

/** The same text for values that are the same for JSON. */
function canonical(value: JsonValue, place: Place): string {
  const { validation } = place;
  validation.spend(1);
  if (Array.isArray(value)) {
    return validation.nested(() => `[${value.map((part) => canonical(part, place)).join()}]`);
  }
  if (!isJsonObject(value)) {
    if (typeof value === "string") validation.spend(value.length / CHARACTERS_PER_STEP);
    return JSON.stringify(value);
  }
  const fields = validation.namesOf(value).toSorted();
  return validation.nested(
    () => `{${fields.map((name) => `${JSON.stringify(name)}:${canonical(value[name]!, place)}`).join()}}`,
  );
}
