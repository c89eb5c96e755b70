import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { JsonValue } from "../json-object.ts";
import { PartialJson } from "./partial-json.ts";

/** In an escape of two halves that comes in pushes of three, which is read again with each. */
const MOST_LOOKS = 6;

function parse(...pushes: readonly string[]): PartialJson {
  const parser = new PartialJson();
  for (const text of pushes) parser.push(text);
  return parser;
}

/** JSON texts, with white space, escapes and names of a prototype among them. */
const spaced = fc.tuple(
  fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }),
  fc.constantFrom(undefined, 2, "\t\r\n"),
);
const anyJson = fc.oneof(
  spaced.map(([value, space]) => JSON.stringify(value, undefined, space)),
  spaced.map(([value]) => toAscii(JSON.stringify(value))),
  fc.constantFrom(
    '{"__proto__":{"a":[1]},"constructor":0}',
    '{"a":1,"b":2,"a":[3]}',
    " [ ] ",
    "[-0,1e2,0.5e-3]",
  ),
);

/** With everything escaped that can be. */
function toAscii(json: string): string {
  return json.replaceAll(/[^ -~]|\//g, (sign) => {
    return sign === "/" ? "\\/" : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function cutAt(text: string, places: readonly number[]): string[] {
  const cuts = [0, ...places.map((place) => place % (text.length + 1)), text.length].toSorted(
    (a, b) => a - b,
  );
  return cuts.slice(1).map((end, i) => text.slice(cuts[i], end));
}

/** Returns true if the second value contains the first, where only the ends of texts and containers may be open. */
function isWithin(before: JsonValue, after: JsonValue): boolean {
  if (typeof before === "string") return typeof after === "string" && after.startsWith(before);
  if (typeof before !== "object" || before === null) return Object.is(before, after);
  if (typeof after !== "object" || after === null || Array.isArray(before) !== Array.isArray(after))
    return false;
  return Object.entries(before).every(
    ([key, part]) => Object.hasOwn(after, key) && isWithin(part, (after as Record<string, JsonValue>)[key]!),
  );
}

test("is what JSON.parse makes of the text, however it is cut", () => {
  fc.assert(
    fc.property(anyJson, fc.array(fc.nat(), { maxLength: 6 }), (text, places) => {
      const parser = parse(...cutAt(text, places));
      parser.finish();
      expect([parser.error, parser.isComplete]).toEqual([undefined, true]);
      expect(JSON.stringify(parser.value)).toBe(JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 1_000 },
  );
});

test("at every moment the value is valid JSON, and is kept by all later ones", () => {
  const ordered = anyJson.filter((text) => !text.includes('"a":[3]'));
  fc.assert(
    fc.property(ordered, (text) => {
      const parser = new PartialJson();
      let before: JsonValue | undefined;
      for (const sign of text) {
        parser.push(sign);
        const { value } = parser;
        if (value === undefined) continue;
        const now = structuredClone(value);
        expect(JSON.parse(JSON.stringify(now))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(before === undefined || isWithin(before, now)).toBe(true);
        before = now;
      }
    }),
    { numRuns: 300 },
  );
});

test("a text that is no JSON is found out at its first wrong character, and what stood before stays", () => {
  fc.assert(
    fc.property(
      anyJson,
      fc.nat(),
      fc.constantFrom("x", "}", "]", ",", ":", '"', "\\", "\n", "1"),
      (text, place, by) => {
        const at = place % (text.length + 1);
        const changed = text.slice(0, at) + by + text.slice(at);
        const parser = parse(changed);
        parser.finish();
        expect(parser.isComplete).toBe(isJson(changed));
        expect(parser.error ?? changed.length).toBeLessThanOrEqual(changed.length);
      },
    ),
    { numRuns: 1_000 },
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("a value is kept as far as it is certain", () => {
  test.each<[string, JsonValue | undefined]>([
    ["", undefined],
    ["  ", undefined],
    ["{", {}],
    ['{"na', {}],
    ['{"name"', {}],
    ['{"name": ', {}],
    ['{"name": "', { name: "" }],
    ['{"name": "A\\', { name: "A" }],
    ['{"name": "A\\u00e', { name: "A" }],
    ['{"name": "A\\u00e9', { name: "Aé" }],
    ['{"name": "A\\ud83d', { name: "A" }],
    ['{"name": "A\\ud83d\\ude0', { name: "A" }],
    ['{"name": "A\\ud83d\\ude00', { name: "A🙂".replace("🙂", "\u{1f600}") }],
    ['{"name": "A\ud83d', { name: "A" }],
    ['{"n": 1', {}],
    ['{"n": 12,', { n: 12 }],
    ["[tru", []],
    ["[true", []],
    ["[true ", [true]],
    ["[[1,[2,", [[1, [2]]]],
    ["12", undefined],
  ])("%j", (text, value) => expect(parse(text).value).toEqual(value));
});

describe("an error", () => {
  test.each<[string, number, JsonValue | undefined]>([
    ["Here you are: {}", 0, undefined],
    ["{} x", 3, {}],
    ["[1, x]", 4, [1]],
    ["[01]", 1, []],
    ["[nul]", 1, []],
    ['["a\nb"]', 3, ["a"]],
    ['["a\\x"]', 3, ["a"]],
    ["{1: 2}", 1, {}],
    ['{"a": 1,}', 8, { a: 1 }],
    ["[1 2]", 3, [1]],
    ["[}", 1, []],
  ])("of %j is at %i", (text, error, value) => {
    const parser = parse(text, "more");
    expect([parser.error, parser.value, parser.isComplete]).toEqual([error, value, false]);
  });

  test("is nesting beyond 512", () => {
    expect(parse("[".repeat(512)).error).toBe(undefined);
    expect(parse("[".repeat(100_000)).error).toBe(512);
  });
});

test("a number that nothing encloses is whole when the text is", () => {
  const parser = parse("1", "2");
  expect([parser.value, parser.isComplete]).toEqual([undefined, false]);
  parser.finish();
  expect([parser.value, parser.isComplete]).toEqual([12, true]);
});

test("the value is one tree that grows, until it is reset", () => {
  const parser = parse('{"a": [');
  const first = parser.value;
  parser.push("1]}");
  expect(parser.value).toBe(first);
  expect(first).toEqual({ a: [1] });
  parser.reset();
  expect([parser.value, parser.error]).toEqual([undefined, undefined]);
  parser.push("[2]");
  expect([parser.value, parser.isComplete, first]).toEqual([[2], true, { a: [1] }]);
});

/** Counts the characters that a parser reads one by one, or cuts out, while it takes a text in pushes of three. */
function countSteps(text: string): number {
  using looks = vi.spyOn(String.prototype, "charCodeAt");
  using pieces = vi.spyOn(String.prototype, "slice");
  const parser = new PartialJson();
  for (let at = 0; at < text.length; at += 3) parser.push(text.substring(at, at + 3));
  expect(parser.isComplete).toBe(true);
  return (
    looks.mock.calls.length + pieces.mock.results.reduce((sum, { value }) => sum + String(value).length, 0)
  );
}

test.each([
  ["one string", `["${"x".repeat(6_000)}"]`],
  ["escapes", `["${"x\\n".repeat(2_000)}"]`],
  ["escaped pairs", `["${"\\ud83d\\ude42".repeat(500)}"]`],
  ["one number", `[${"1".repeat(6_000)}]`],
  ["one name", `{"${"x".repeat(6_000)}":1}`],
  ["many fields", JSON.stringify(Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`f${i}`, i])))],
  ["half pairs", `["${"🙂".repeat(3_000)}"]`],
])("of %s each character is looked at a few times at most, whatever the pushes", (_what, text) => {
  expect(countSteps(text)).toBeLessThanOrEqual(MOST_LOOKS * text.length);
});
