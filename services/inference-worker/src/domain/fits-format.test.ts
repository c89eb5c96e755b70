import { expect, test } from "vitest";
import { fitsFormat } from "./fits-format.ts";

const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const JSON_SCHEMA = { type: "json_schema", schema } as const;
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
])("%s", (_, format, answer, fit) => expect(fitsFormat(format, answer)).toBe(fit));
