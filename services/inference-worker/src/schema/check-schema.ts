import type { JsonValue } from "@reprise/protocol";
import { all, type Fit } from "./fit.ts";
import { isJsonObject } from "./json-type.ts";
import { ARRAY_KEYWORDS } from "./keywords/arrays.ts";
import { COMBINING_KEYWORDS } from "./keywords/combining.ts";
import type { Keyword } from "./keywords/keyword.ts";
import { NUMBER_KEYWORDS } from "./keywords/numbers.ts";
import { OBJECT_KEYWORDS } from "./keywords/objects.ts";
import { REFERENCE_KEYWORDS } from "./keywords/references.ts";
import { STRING_KEYWORDS } from "./keywords/strings.ts";
import { VALUE_KEYWORDS } from "./keywords/values.ts";
import type { Validation } from "./validation.ts";

/** All that says something about values in drafts 4 to 2020-12. What is not here is an annotation. */
const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({
    ...VALUE_KEYWORDS,
    ...NUMBER_KEYWORDS,
    ...STRING_KEYWORDS,
    ...ARRAY_KEYWORDS,
    ...OBJECT_KEYWORDS,
    ...COMBINING_KEYWORDS,
    ...REFERENCE_KEYWORDS,
  }),
);

/** @throws ValidationSpent */
export function checkSchema(schema: JsonValue | undefined, value: JsonValue, validation: Validation): Fit {
  validation.spend(1);
  if (typeof schema === "boolean") return schema;
  if (!isJsonObject(schema)) return undefined;
  const check = (name: string): Fit => {
    validation.spend(1);
    const keyword = KEYWORDS.get(name);
    return keyword === undefined || keyword(schema[name]!, value, { schema, validation, check: checkSchema });
  };
  return validation.nested(() => {
    const names = Object.keys(schema);
    if (!names.includes("$ref")) return all(names.values().map(check));
    // Up to draft 7 nothing counts beside a reference, and from 2019-09 on it does.
    const beside = all(
      names
        .values()
        .filter((name) => name !== "$ref")
        .map(check),
    );
    return all([check("$ref"), beside === false ? undefined : beside]);
  });
}
