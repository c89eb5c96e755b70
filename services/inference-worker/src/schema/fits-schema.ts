import { createContext, Script } from "node:vm";
import { format as formats, type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import type { JsonValue, GenerationRequest } from "@reprise/protocol";
import { PatternBudget } from "./pattern-budget.ts";

/** True or false if a value fits a schema or not. Undefined if that is not certain, or would cost too much. */
export type Fit = boolean | undefined;

/** The limit of the schema as JSON, in characters. */
const MAX_SCHEMA_LENGTH = 65_536;
/** The worker does nothing else meanwhile. */
const MAX_CHECK_MS = 250;

/** Runs `call`. The validator has no bound of its own: references that name each other twice double its work at each step. */
const CALL = new Script("call()");
const box: { call?: () => boolean } = {};
const context = createContext(box);

/**
 * Compares a value with a tenant's schema. Nothing of the schema becomes code, nothing is fetched, and patterns run in RE2. Formats are
 * annotations. Returns undefined for a schema that the validator does not read to its end in time: one with references that lead nowhere or
 * that double, for example.
 */
export function fitsSchema(schema: JsonValue, value: JsonValue, patterns = new PatternBudget()): Fit {
  const names = new Set<string>();
  box.call = () => {
    if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH) throw new Error("the schema is too large");
    const own = withOwnPatterns(schema, (pattern) => {
      const name = `re2 ${pattern}`;
      names.add(name);
      formats[name] = (text) => {
        const found = patterns.search(pattern, text);
        if (found === undefined) throw new Error("the pattern is not searched for");
        return found;
      };
      return name;
    });
    return new Validator(own as Schema | boolean, draftOf(schema)).validate(value).valid;
  };
  try {
    return CALL.runInContext(context, { timeout: MAX_CHECK_MS }) as boolean;
  } catch {
    // The time is over, the stack is full, or the schema can't be read.
    return undefined;
  } finally {
    delete box.call;
    for (const name of names) delete formats[name];
  }
}

/**
 * Copies a schema for the validator, which writes to it. It runs patterns in V8, where a tenant's may take for ever, so each `pattern` becomes a
 * `format`, which is a function of the text. All objects are read as schemas, so that none is overlooked.
 * @throws if the schema has what the validator does not know or must not run
 */
function withOwnPatterns(value: JsonValue, toFormat: (pattern: string) => string): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => withOwnPatterns(part, toFormat));
  const { pattern, format, ...rest } = value;
  if (Array.isArray(pattern) || Array.isArray(format) || isNotCompared(rest))
    throw new Error("the schema has what is not compared");
  const copy: [string, JsonValue][] = Object.entries(rest);
  if (isSchema(pattern)) copy.push(["pattern", pattern]);
  if (isSchema(format)) copy.push(["format", format]);
  if (typeof pattern === "string") copy.push(["format", toFormat(pattern)]);
  return Object.fromEntries(copy.map(([name, part]) => [name, withOwnPatterns(part, toFormat)]));
}

/** True for the schema of a field that is named like a keyword. */
function isSchema(value: JsonValue | undefined): value is JsonValue {
  return typeof value === "object" || typeof value === "boolean";
}

/** Patterns of names, references that the validator does not follow, OpenAPI's null, and data that looks like a pattern. */
function isNotCompared(schema: Record<string, JsonValue>): boolean {
  const { const: constant = null, enum: values = null } = schema;
  return (
    "patternProperties" in schema ||
    "$dynamicRef" in schema ||
    schema["nullable"] === true ||
    /"(?:pattern|format)"/.test(JSON.stringify([constant, values]))
  );
}

function draftOf(schema: JsonValue): SchemaDraft {
  const uri = typeof schema === "object" && schema !== null && !Array.isArray(schema) && schema["$schema"];
  if (typeof uri !== "string") return "2020-12";
  return uri.includes("draft-04") ? "4" : /draft-0[67]/.test(uri) ? "7" : "2020-12";
}

/** In UTF-16 code units. */
const MAX_ANSWER_LENGTH = 1_048_576;

/** Compares a finished answer with the form that was asked for. */
export function fitsFormat(format: GenerationRequest["response_format"], answer: string): Fit {
  if (format === undefined || format.type === "text") return true;
  if (answer.length > MAX_ANSWER_LENGTH) return undefined;
  const value = parseJson(answer);
  if (value === undefined) return false;
  if (format.type === "json_schema") return fitsSchema(format.schema, value);
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
