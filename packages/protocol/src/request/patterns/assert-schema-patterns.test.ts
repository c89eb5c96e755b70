import { expect, test } from "vitest";
import type { JsonValue } from "../../json-object.ts";
import { LIMITS } from "../fields/limits.ts";
import { parseGenerationRequest } from "../request.ts";
import { pricePattern } from "./price-pattern.ts";

function requestWith(schema: JsonValue) {
  return () =>
    parseGenerationRequest({ model: "m", input: "hi", response_format: { type: "json_schema", schema } });
}

test.for<[string, JsonValue, string, string]>([
  [
    "a counted repetition",
    { properties: { a: { pattern: "[ab]?a(?:[ab]?){998}[cd]" } } },
    "properties.a.pattern",
    "2008",
  ],
  ["nested counted repetitions", { items: { pattern: "(?:(?:a{10}){10}){11}" } }, "items.pattern", "1107"],
  ["a counted class of Unicode", { anyOf: [{}, { pattern: "\\p{L}{64}" }] }, "anyOf.1.pattern", "1092"],
  ["a field's pattern", { patternProperties: { "^.{0,600}$": {} } }, "patternProperties.^.{0,600}$", "1206"],
  [
    "a set of literals",
    { pattern: Array.from({ length: 300 }, (_, i) => `w${i}x`).join("|") },
    "pattern",
    "",
  ],
])("%s that costs too much is refused by its path, cost and limit", ([, schema, path, cost]) => {
  const param = `response_format.schema.${path}`;
  expect(requestWith(schema)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  expect(requestWith(schema)).toThrow(cost);
  expect(requestWith(schema)).toThrow(`the limit is ${LIMITS.schemaPatternCost}`);
});

test("patterns that cost too much together are refused", () => {
  const fields = Array.from({ length: 20 }, (_, i) => [`f${i}`, { pattern: `^[a-z]{1,${200 + i}}$` }]);
  const properties = Object.fromEntries(fields) as JsonValue;
  expect(requestWith({ properties })).toThrow(`the limit is ${LIMITS.schemaPatternsCost}`);
  expect(requestWith({ $defs: { unused: { properties } } })).toThrow("of all patterns of the schema");
});

test("a pattern of a megabyte is refused by its length", () => {
  expect(requestWith({ pattern: `[${"x".repeat(900_000)}]` })).toThrow("225000");
});

test("a pattern of more than 4 KiB is not read, even a cheap one", () => {
  const properties = Object.fromEntries([1, 2, 3].map((i) => [`f${i}`, { pattern: "[[:".repeat(5_430) }]));
  expect(requestWith({ properties })).toThrow("the pattern costs 4072 instructions");
  expect(requestWith({ pattern: `[${"x".repeat(4_200)}]` })).toThrow("the pattern costs 1050 instructions");
});

const LONG = "n-z".repeat(30);
test.for([
  ["a class of Unicode", String.raw`\p{${LONG}}`, "states"],
  ["a POSIX class", `[[:${LONG}:]]`, "classWeight"],
  ["a named group", `(?P<${LONG}>)`, "states"],
] as const)("the name of %s is looked for only so far as such names are long", ([, source, counted]) => {
  expect(pricePattern(source)[counted]).toBeGreaterThan(pricePattern(source.replace(LONG, "n"))[counted]);
});

test.for<[string, JsonValue, string]>([
  [
    "under a field named like data",
    { properties: { default: { pattern: "a{9999}" } } },
    "properties.default",
  ],
  ["under a definition named like data", { $defs: { enum: { pattern: "a{9999}" } } }, "$defs.enum"],
  [
    "under a field named like a map, in data's place",
    { properties: { properties: { const: 1, not: { pattern: "a{9999}" } } } },
    "properties.properties.not",
  ],
  ["in data that a reference leads to", { $ref: "#/const", const: { pattern: "a{9999}" } }, "const"],
  [
    "in data that an encoded reference leads to",
    { items: { $ref: "#/%63onst/0" }, const: [{ pattern: "a{9999}" }] },
    "const.0",
  ],
])("a pattern %s counts", ([, schema, path]) => {
  const param = `response_format.schema.${path}.pattern`;
  expect(requestWith(schema)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
});

test.for<[string, JsonValue]>([
  ["patterns that people write", { pattern: "^[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{2,63}){1,4}$" }],
  ["all of Unicode", { pattern: "^[\\u0000-\\uFFFF]{0,255}$" }],
  [
    "data beside references that don't lead there",
    { $ref: "#/$defs/a", $defs: { a: { const: { pattern: "a{999999}" } } } },
  ],
  ["what is data", { const: { pattern: "a{999999}" }, enum: [{ pattern: "a{999999}" }] }],
  ["a field of that name", { properties: { pattern: { type: "string" } } }],
])("%s pass", ([, schema]) => expect(requestWith(schema)).not.toThrow());
