import type { JsonValue } from "@reprise/protocol";
import { all, any, type Fit, not } from "../fit.ts";
import { isCount, isJsonObject, isTexts, type JsonObject } from "../json-type.ts";
import { matchesPattern } from "../match-pattern.ts";
import { type Keyword, leftOpen, type Place } from "./keyword.ts";

/** What is said of objects. */
export const OBJECT_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minProperties: ofObjects((setting, value, { validation }) =>
    isCount(setting) ? validation.namesOf(value).length >= setting : undefined,
  ),
  maxProperties: ofObjects((setting, value, { validation }) =>
    isCount(setting) ? validation.namesOf(value).length <= setting : undefined,
  ),
  required: ofObjects(hasAll),
  properties: ofObjects((setting, value, { validation, check }) => {
    if (!isJsonObject(setting)) return undefined;
    const named = validation.namesOf(setting).filter((name) => Object.hasOwn(value, name));
    return all(named.values().map((name) => check(setting[name], value[name]!, validation)));
  }),
  patternProperties: ofObjects((setting, value, { validation, check }) => {
    if (!isJsonObject(setting)) return undefined;
    const names = validation.namesOf(value);
    const fits = (pattern: string, name: string) =>
      any([
        not(matchesPattern(pattern, name, validation)),
        check(setting[pattern], value[name]!, validation),
      ]);
    return all(
      validation
        .namesOf(setting)
        .values()
        .flatMap((pattern) => names.values().map((name) => fits(pattern, name))),
    );
  }),
  additionalProperties: ofObjects((setting, value, place) => {
    const { validation, check } = place;
    const fits = (name: string) => {
      const isNamed = isNamedBeside(name, place);
      return isNamed === true ? true : any([isNamed, check(setting, value[name]!, validation)]);
    };
    return all(validation.namesOf(value).values().map(fits));
  }),
  propertyNames: ofObjects((setting, value, { validation, check }) =>
    all(
      validation
        .namesOf(value)
        .values()
        .map((name) => check(setting, name, validation)),
    ),
  ),
  dependentRequired: ofObjects(checkDependencies),
  dependentSchemas: ofObjects(checkDependencies),
  dependencies: ofObjects(checkDependencies),
  unevaluatedProperties: leftOpen,
};

function ofObjects(keyword: (setting: JsonValue, value: JsonObject, place: Place) => Fit): Keyword {
  return (setting, value, place) => (isJsonObject(value) ? keyword(setting, value, place) : true);
}

function hasAll(names: JsonValue, value: JsonObject, { validation }: Place): Fit {
  if (!isTexts(names)) return undefined;
  validation.spend(names.length);
  return names.every((name) => Object.hasOwn(value, name));
}

/** Whether `properties` or `patternProperties` of the same schema speak of a field. */
function isNamedBeside(name: string, { schema, validation }: Place): Fit {
  const { properties = {}, patternProperties: patterns = {} } = schema;
  if (!isJsonObject(properties) || !isJsonObject(patterns)) return undefined;
  if (Object.hasOwn(properties, name)) return true;
  return any(
    validation
      .namesOf(patterns)
      .values()
      .map((pattern) => matchesPattern(pattern, name, validation)),
  );
}

/** What a field asks for where it is there: other fields, or a schema of the whole. */
function checkDependencies(setting: JsonValue, value: JsonObject, place: Place): Fit {
  if (!isJsonObject(setting)) return undefined;
  const { validation, check } = place;
  const asking = validation.namesOf(setting).filter((name) => Object.hasOwn(value, name));
  const fits = (needs: JsonValue) =>
    Array.isArray(needs) ? hasAll(needs, value, place) : check(needs, value, validation);
  return all(asking.values().map((name) => fits(setting[name]!)));
}
