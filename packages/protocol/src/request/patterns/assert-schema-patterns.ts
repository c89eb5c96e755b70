import type { JsonValue } from "../../json-object.ts";
import { RepriseError } from "../../errors/reprise-error.ts";
import { LIMITS } from "../fields/limits.ts";
import { pricePattern } from "./price-pattern.ts";

/** Keywords whose values are data: a `pattern` in there is none of the schema. */
const DATA = new Set(["const", "enum", "default", "examples", "example"]);

/** Keywords whose values have schemas under names of any kind. */
const MAPS = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/** References to these never lead into data. */
const PLAIN_REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[^/%]*)?$/;

/** A class of Unicode has hundreds of ranges, which each of its instructions brings into the search. */
const UNICODE_STATE_COST = 16;

/** Reading the source takes time too: one of more than 4 KiB is not read. */
const CHARACTERS_PER_COST = 4;

/**
 * Returns the cost of a schema's pattern: about the instructions of its program, through each of which a search takes each
 * character of a text at worst.
 */
export function schemaPatternCost(pattern: string): number {
  const reading = Math.floor(pattern.length / CHARACTERS_PER_COST);
  if (reading > LIMITS.schemaPatternCost) return reading;
  const { states, unicodeStates } = pricePattern(pattern);
  return states + UNICODE_STATE_COST * unicodeStates + reading;
}

/**
 * Checks what the patterns of a JSON schema cost, each by itself and all together. Nothing is compiled: a pattern that is wrong is the engine's to refuse.
 * @param path of the schema: `response_format.schema`
 * @throws RepriseError `invalid_request` that names the pattern which is too much, its cost and the limit
 */
export function assertSchemaPatterns(schema: JsonValue, path: string): void {
  let sum = 0;
  const open: Part[] = [{ value: schema, at: path, isMap: false }];
  const data: Part[] = [];
  let mayReferToData = false;
  const check = (pattern: string, param: string): void => {
    const cost = schemaPatternCost(pattern);
    sum += cost;
    if (cost > LIMITS.schemaPatternCost)
      refuse(param, `the pattern costs ${cost} instructions; the limit is ${LIMITS.schemaPatternCost}`);
    if (sum > LIMITS.schemaPatternsCost)
      refuse(
        param,
        `makes ${sum} instructions of all patterns of the schema; the limit is ${LIMITS.schemaPatternsCost}`,
      );
  };
  const pop = () => open.pop() ?? (mayReferToData ? data.pop() : undefined);
  for (let next = pop(); next; next = pop()) {
    const { value, at, isMap } = next;
    if (Array.isArray(value))
      for (const [i, one] of value.entries()) open.push({ value: one, at: `${at}.${i}`, isMap: false });
    if (!isObject(value)) continue;
    for (const [name, part] of Object.entries(value)) {
      const param = `${at}.${name}`;
      if (isMap) {
        open.push({ value: part, at: param, isMap: false });
        continue;
      }
      if (name === "pattern" && typeof part === "string") check(part, param);
      else if (name === "patternProperties" && isObject(part))
        for (const pattern of Object.keys(part)) check(pattern, `${param}.${pattern}`);
      else if (name === "$ref" && typeof part === "string" && !PLAIN_REFERENCE.test(part))
        mayReferToData = true;
      (DATA.has(name) ? data : open).push({ value: part, at: param, isMap: MAPS.has(name) });
    }
  }
}

/** A part of a schema that is still to be read. */
interface Part {
  readonly value: JsonValue;
  readonly at: string;
  /** Its names are no keywords. */
  readonly isMap: boolean;
}

function refuse(param: string, problem: string): never {
  throw new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}

function isObject(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
