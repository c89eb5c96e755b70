import { expect, test } from "vitest";
import type { JsonValue } from "../../json-object.ts";
import { LIMITS } from "../fields/limits.ts";
import { parseGenerationRequest } from "../request.ts";

function requestWith(schema: JsonValue) {
  return () =>
    parseGenerationRequest({ model: "m", input: "hi", response_format: { type: "json_schema", schema } });
}

test.for<[string, JsonValue, string, string]>([
  [
    "a counted repetition",
    { properties: { a: { pattern: "[ab]?a(?:[ab]?){998}[cd]" } } },
    "properties.a.pattern",
    "2003",
  ],
  ["nested counted repetitions", { items: { pattern: "(?:(?:a{10}){10}){11}" } }, "items.pattern", "1103"],
  ["a counted class of Unicode", { anyOf: [{}, { pattern: "\\p{L}{64}" }] }, "anyOf.1.pattern", "1090"],
  ["a field's pattern", { patternProperties: { "^.{0,600}$": {} } }, "patternProperties.^.{0,600}$", "1204"],
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
  expect(requestWith({ pattern: `[${"x".repeat(900_000)}]` })).toThrow("56250");
});

test.for<[string, JsonValue]>([
  ["patterns that people write", { pattern: "^[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{2,63}){1,4}$" }],
  ["all of Unicode", { pattern: "^[\\u0000-\\uFFFF]{0,255}$" }],
  ["what is data", { const: { pattern: "a{999999}" }, enum: [{ pattern: "a{999999}" }] }],
  ["a field of that name", { properties: { pattern: { type: "string" } } }],
])("%s pass", ([, schema]) => expect(requestWith(schema)).not.toThrow());
