import { LIMITS } from "@reprise/protocol";
import { expect, test } from "vitest";
import { parseJsonBody } from "./parse-json-body.ts";

test.each([
  ['{"__proto__":{}}', "__proto__"],
  ['{"metadata":{"__proto__":"x"}}', "metadata.__proto__"],
  ['{"metadata":{"\\u005f_proto_\\u005F":null}}', "metadata.__proto__"],
  ['{"a":[1,{"b":{"__proto__":7}}]}', "a.1.b.__proto__"],
  ['{"options":{"constructor":{"prototype":{}}}}', "options.constructor.prototype"],
])("%s is refused by the name of the field", (text, param) => {
  expect(() => parseJsonBody(text)).toThrow(
    expect.objectContaining({ code: "invalid_request", param, message: expect.stringContaining(param) }),
  );
});

const DEPTH = LIMITS.bodyDepth;
const arrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const objects = (depth: number) => `${'{"x":'.repeat(depth)}1${"}".repeat(depth)}`;

test.each([
  ["the body itself", arrays(500_000), "0.0.0.0.0.0"],
  ["arrays in a field", `{"a":[{"b":${arrays(DEPTH - 2)}}]}`, "a.0.b.0.0.0"],
  ["objects in a field", `{"metadata":${objects(100_000)}}`, "metadata.x.x.x.x.x"],
])("what nests deeper than the limit is refused by the place: %s", (_of, text, param) => {
  const message = expect.stringMatching(/^\S+: nests more than 128 deep/);
  expect(() => parseJsonBody(text)).toThrow(
    expect.objectContaining({ code: "invalid_request", param, message }),
  );
});

test("an object has a limited number of names, and an array as many values as a body holds", () => {
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_each, i) => [`n${i}`, i]));
  const text = JSON.stringify({ a: [named(LIMITS.bodyNames + 1)] });
  const message = "a.0: has 4097 names, and may have 4096; a body is refused for it in any field.";
  expect(() => parseJsonBody(text)).toThrow(
    expect.objectContaining({ code: "invalid_request", param: "a.0", message }),
  );
  const within = { a: [named(LIMITS.bodyNames)], b: Array.from({ length: 300_000 }, () => []) };
  expect(parseJsonBody(JSON.stringify(within))).toEqual(within);
});

test.each([arrays(DEPTH), objects(DEPTH)])("what nests as deep as the limit is taken", (text) => {
  expect(parseJsonBody(text)).toEqual(JSON.parse(text));
});

test.each(["", "{", "\u0000", "[".repeat(500_000)])("what is not JSON is told as that", (text) => {
  expect(() => parseJsonBody(text)).toThrow(expect.objectContaining({ code: "invalid_json", param: "body" }));
});

test.each([
  '{"a":"__proto__","constructor":"x","prototype":{},"b":{"constructor":{"c":"\\u00e9"}}}',
  "7",
  "null",
  '\ufeff{"a":1}',
])("%s is taken as it is", (text) => {
  expect(parseJsonBody(text)).toEqual(JSON.parse(text.replace("\ufeff", "")));
});
