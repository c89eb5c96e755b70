import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import type { JsonValue } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { fitsSchema } from "./fits-schema.ts";

/* Ajv compiles a schema to code, so no tenant's schema ever meets it but here, where it says what is right. */

const name = fc.constantFrom("a", "b", "c", "toString", "constructor");
const scalar = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, "", "a", "ab", "🙂", "b c"),
  fc.integer({ min: -3, max: 5 }),
  fc.constantFrom(0.5, 1.5, 2.5, 1e300, 2 ** 53),
);
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const limit = fc.nat(3);
const pattern = fc.constantFrom("^a", "b$", "^[a-c]*$", "a|b", "\\w", "^.$", "(?=a)");
const types = fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object");
const { schema } = fc.letrec<{ schema: JsonValue; list: JsonValue }>((tie) => ({
  list: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<JsonValue>(true, {}, { $ref: "#" }, { $ref: "#/$defs/a" }, false),
    fc.oneof(
      fc.record({ type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })) }),
      fc.record({ const: value }),
      fc.record({ enum: fc.array(value, { minLength: 1, maxLength: 3 }) }),
      fc.record(
        {
          minimum: fc.integer({ min: -3, max: 5 }),
          exclusiveMaximum: fc.integer({ min: -3, max: 5 }),
          multipleOf: fc.constantFrom(1, 2, 0.5, 0.1),
        },
        { requiredKeys: [], noNullPrototype: true },
      ),
      fc.record({ minLength: limit, maxLength: limit, pattern }, { requiredKeys: [], noNullPrototype: true }),
    ),
    fc.record(
      {
        minItems: limit,
        maxItems: limit,
        uniqueItems: fc.boolean(),
        prefixItems: tie("list"),
        items: tie("schema"),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    // Apart: beside prefixItems Ajv does not miss an item in an empty list.
    fc.record({ contains: tie("schema"), minContains: limit }, { requiredKeys: ["contains"] }),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(name, tie("schema"), { maxKeys: 3, noNullPrototype: true }),
        required: fc.uniqueArray(name, { maxLength: 2 }),
        additionalProperties: tie("schema"),
        patternProperties: fc.dictionary(pattern, tie("schema"), { maxKeys: 2, noNullPrototype: true }),
        propertyNames: tie("schema"),
        minProperties: limit,
        maxProperties: limit,
        dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), {
          maxKeys: 1,
          noNullPrototype: true,
        }),
        dependentSchemas: fc.dictionary(name, tie("schema"), { maxKeys: 1, noNullPrototype: true }),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    fc.record(
      {
        allOf: tie("list"),
        anyOf: tie("list"),
        oneOf: tie("list"),
        not: tie("schema"),
        if: tie("schema"),
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword
        then: tie("schema"),
        else: tie("schema"),
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
  ),
}));

/** Undefined where Ajv does not take the schema, or does not come back from it. */
function ajvSays(of: JsonValue, instance: JsonValue): boolean | undefined {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, ownProperties: true });
  try {
    return ajv.compile(of as object)(instance);
  } catch {
    return undefined;
  }
}

test("says that a value fits a schema, or does not, only where Ajv says the same", () => {
  const told = { true: 0, false: 0, undefined: 0 };
  const withDefs = fc.tuple(schema, schema).map(([root, a]) => {
    const isObject = typeof root === "object" && root !== null && !Array.isArray(root);
    return isObject ? { ...root, $defs: { a } } : root;
  });
  fc.assert(
    fc.property(withDefs, value, (of, instance) => {
      const fit = fitsSchema(of, instance);
      const oracle = fit === undefined ? undefined : ajvSays(of, instance);
      told[`${fit}`]++;
      expect(oracle ?? fit).toBe(fit);
    }),
    { numRuns: 2_000, seed: 20_261_124 },
  );
  expect(told.true).toBeGreaterThan(300);
  expect(told.false).toBeGreaterThan(300);
  expect(told.undefined).toBeLessThan(500);
});

describe("fitsSchema is not certain of", () => {
  const text = "a".repeat(60_000);
  const deep = JSON.parse("[".repeat(5_000) + "]".repeat(5_000)) as JsonValue;
  const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i]));
  const untried = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`(?=a)${i}`, true]));
  const bomb = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => {
      const next = { $ref: `#/$defs/d${i + 1}` };
      return [`d${i}`, i === 39 ? false : { anyOf: [next, next] }];
    }),
  );
  test.each<[string, JsonValue, JsonValue]>([
    [
      "a long reference that leads nowhere, from many items",
      { items: { $ref: `#/${text}` }, maxItems: 1 },
      Array.from({ length: 1_000 }, () => 1),
    ],
    [
      "many patterns that are not tried, beside many fields",
      // In this order: what it costs to try them against each other stands before what is certain.
      { additionalProperties: true, maxProperties: 1, patternProperties: untried },
      Object.fromEntries(Object.entries(fields).slice(0, 100)),
    ],
    ["a reference to itself", { $ref: "#" }, 1],
    ["references that double at each step", { $ref: "#/$defs/d0", $defs: bomb }, 1],
    ["a schema that is larger than 64 KiB", { const: text, description: text }, 1],
    ["a value that nests deeper than it goes", { $defs: {}, items: { $ref: "#" } }, deep],
    ["a reference to another document", { $ref: "https://example.com/schema" }, 1],
    ["a reference to nothing", { $ref: "#/$defs/none" }, 1],
    [
      "references below an id of their own",
      { $ref: "#/$defs/a", $defs: { a: { $id: "x", type: "null" } } },
      1,
    ],
    ["a pattern that RE2 can't read", { pattern: "^(?!a)" }, "a"],
    ["a pattern that RE2 reads in another way", { pattern: "^\\s$" }, "\u2003"],
    ["a pattern times a text that is too long", { pattern: "^(a+)+$".repeat(20) }, text],
    ["a format", { format: "date" }, "yesterday"],
    ["what was evaluated elsewhere", { unevaluatedProperties: false }, { a: 1 }],
    ["what stands beside a reference", { $ref: "#/$defs/a", type: "null", $defs: { a: {} } }, 1],
    ["quotients that rounding decides", { multipleOf: 0.1 }, 0.3],
    ["a number beyond what numbers hold", { type: "integer" }, JSON.parse("1e999") as number],
    ["null where OpenAPI allows it", { type: "string", nullable: true }, null],
    ["a setting that is none", { minimum: "3" }, 1],
    ["a limit that an older draft says is none", { minimum: 3, exclusiveMinimum: true }, 3],
    ["too many fields", { allOf: Array.from({ length: 3_000 }, () => ({ minProperties: 1 })) }, fields],
    [
      "texts that are measured too often",
      { allOf: Array.from({ length: 2_000 }, () => ({ maxLength: 1e9 })) },
      text,
    ],
    ["unique items, of too many", { uniqueItems: true }, Array.from({ length: 250_000 }, (_, i) => i)],
  ])("%s", (_, of, instance) => expect(fitsSchema(of, instance)).toBe(undefined));
});

describe("fitsSchema is certain in spite of what it is not certain of, where that can't matter", () => {
  test.each<[string, JsonValue, JsonValue, boolean]>([
    ["another keyword says no", { format: "date", maxLength: 1 }, "yesterday", false],
    ["another branch says yes", { anyOf: [{ format: "date" }, { type: "string" }] }, "yesterday", true],
    [
      "a field says no",
      { unevaluatedProperties: false, properties: { a: { type: "null" } } },
      { a: 1 },
      false,
    ],
    [
      "its name is one of a prototype",
      JSON.parse('{"properties":{"__proto__":false}}'),
      JSON.parse('{"__proto__":1}'),
      false,
    ],
  ])("%s", (_, of, instance, fit) => expect(fitsSchema(of, instance)).toBe(fit));
});
