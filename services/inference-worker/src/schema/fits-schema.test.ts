import type { JsonValue } from "@reprise/protocol";
import { expect, test } from "vitest";
import { fitsSchema, fitsFormat } from "./fits-schema.ts";

const person: JsonValue = {
  type: "object",
  properties: {
    name: { type: "string", pattern: "^[A-Z]" },
    pattern: { enum: ["dots", null] },
    format: { type: "string", format: "date" },
    friends: { type: "array", items: { $ref: "#" } },
  },
  required: ["name"],
  additionalProperties: false,
};

test.for<[string, JsonValue, JsonValue, boolean]>([
  ["a value that fits", person, { name: "Ada", pattern: "dots", friends: [{ name: "Bob" }] }, true],
  ["a missing field", person, { pattern: null }, false],
  ["a field too many", person, { name: "Ada", age: 36 }, false],
  ["a misfit below a reference", person, { name: "Ada", friends: [{ name: 1 }] }, false],
  ["a text without the pattern", person, { name: "ada" }, false],
  ["a pattern below not", { not: { pattern: "^a" } }, "b", true],
  ["a format, which is an annotation", person, { name: "Ada", format: "yesterday" }, true],
  ["a format named like a pattern", { format: "re2 ^a", not: { pattern: "^a" } }, "b", true],
  [
    "a field named like a format, of any value",
    { properties: { format: true, pattern: true }, additionalProperties: false },
    { format: 1, pattern: 1 },
    true,
  ],
  ["a forbidden field named like a format", { properties: { format: false } }, { format: 1 }, false],
  [
    "draft 4's limits",
    { $schema: "http://json-schema.org/draft-04/schema#", minimum: 3, exclusiveMinimum: true },
    3,
    false,
  ],
  ["a keyword beside a reference", { $ref: "#/$defs/a", type: "null", $defs: { a: {} } }, 1, false],
  ["a decimal multiple", { multipleOf: 0.1 }, 0.3, true],
  [
    "a field named like a prototype",
    { properties: { constructor: { type: "null" } } },
    { constructor: 1 },
    false,
  ],
])("%s is compared", ([, schema, value, fit]) => expect(fitsSchema(schema, value)).toBe(fit));

const text = "a".repeat(60_000);
const bomb = Object.fromEntries(
  Array.from({ length: 40 }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [`d${i}`, i === 39 ? false : { anyOf: [next, next] }];
  }),
);
const numbers = Array.from({ length: 250_000 }, (_, i) => i);
test.for<[string, JsonValue, JsonValue]>([
  ["a reference to itself", { $ref: "#" }, 1],
  ["references that double at each step", { $ref: "#/$defs/d0", $defs: bomb }, 1],
  ["a reference to another document", { $ref: "https://example.com/schema" }, 1],
  ["a reference into data", { $ref: "#/const", const: { pattern: "^(a+)+$" } }, `${text}b`],
  ["a schema that is larger than 64 KiB", { const: text, description: text }, 1],
  ["a schema that nests too deep", JSON.parse(`${'{"not":'.repeat(7_000)}{}${"}".repeat(7_000)}`), 1],
  [
    "a value that nests too deep",
    { items: { $ref: "#" } },
    JSON.parse("[".repeat(9_000) + "]".repeat(9_000)),
  ],
  ["unique items, of too many", { uniqueItems: true }, numbers],
  [
    "a list of values that is repeated in too many errors",
    { contains: { enum: numbers.slice(0, 9_000) } },
    numbers.map((n) => -n - 1),
  ],
  ["a pattern times a text that is too long", { pattern: "^(?:a+)+$".repeat(20) }, text],
  ["a pattern that only V8 can read", { pattern: "^(?!a)" }, "a"],
  ["a list that V8 would read as a pattern", { pattern: ["^(a+)+$"] }, `${text}b`],
  ["a dependency of a field named like a format", { dependentRequired: { format: ["a"] } }, { format: 1 }],
  ["a pattern in a list of fields", { properties: [{ pattern: "^(?!a)" }] }, { "0": "a" }],
  [
    "a pattern in a dependency",
    { dependencies: { enum: { properties: { enum: { pattern: "^(?!a)" } } } } },
    { enum: "a" },
  ],
  ["patterns of names", { patternProperties: { "^(a+)+$": false } }, { [`${text}b`]: 1 }],
  ["null where OpenAPI allows it", { type: "string", nullable: true }, null],
  ["data that looks like a pattern", { const: { pattern: "a" } }, { pattern: "a" }],
])("%s is not compared", ([, schema, value]) => expect(fitsSchema(schema, value)).toBe(undefined));

const INTEGER_FIELD = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const JSON_SCHEMA = { type: "json_schema", schema: INTEGER_FIELD } as const;
const JSON_OBJECT = { type: "json_object" } as const;

test.each([
  ["a text for a request without a form", undefined, "Hello", true],
  ["a text for the form text", { type: "text" } as const, "Hello", true],
  ["an object", JSON_OBJECT, ' {"a": 1}\n', true],
  ["a list", JSON_OBJECT, "[]", false],
  ["null", JSON_OBJECT, "null", false],
  ["nothing", JSON_OBJECT, "", false],
  ["half an object", JSON_OBJECT, '{"a": ', false],
  ["an object in a fence", JSON_OBJECT, '```json\n{"a": 1}\n```', false],
  ["what fits the schema", JSON_SCHEMA, '{"n": 1}', true],
  ["what does not fit the schema", JSON_SCHEMA, '{"n": "1"}', false],
  ["what is no JSON for a schema that takes anything", { ...JSON_SCHEMA, schema: {} }, "Hello", false],
  ["what would cost too much", JSON_SCHEMA, `{"n": "${"x".repeat(1_048_576)}"}`, undefined],
])("%s is compared with the form that was asked for", (_, format, answer, fit) =>
  expect(fitsFormat(format, answer)).toBe(fit),
);
