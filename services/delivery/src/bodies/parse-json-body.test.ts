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

test("a name that is refused is found at the bottom of half a million arrays", () => {
  const deep = `${"[".repeat(500_000)}{"__proto__":1}${"]".repeat(500_000)}`;
  expect(() => parseJsonBody(deep)).toThrow(expect.objectContaining({ code: "invalid_request" }));
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
