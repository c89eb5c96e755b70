import { parseSimOptions } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../testing/any-text.ts";
import { countInputTokens, countTokens, splitText, toTokenSource } from "./sim-tokens.ts";

describe("a text cut into tokens", () => {
  test("is the same text again when they are joined, and none is empty", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const tokens = splitText(text);
        expect(tokens.join("")).toBe(text);
        expect(tokens).not.toContain("");
        expect(countTokens(text)).toBe(tokens.length);
      }),
    );
  });

  test("is cut before the blanks between words, and inside very long words", () => {
    expect(splitText("To be,  or\nnot ")).toEqual(["To", " be,", "  or", "\nnot", " "]);
    expect(
      ["To be,  or\nnot ", "", " ", "\u3000\ufeffto\u2028be", `${"🙂".repeat(13)} x`].map(countTokens),
    ).toEqual([5, 0, 1, 2, 3]);
    expect(splitText("日".repeat(30))).toEqual(["日".repeat(12), "日".repeat(12), "日".repeat(6)]);
  });
});

describe("the source of a run's tokens", () => {
  const textOf = (options: Record<string, unknown>, requestSeed?: number) => {
    const source = toTokenSource(parseSimOptions({ options: options as never }), requestSeed);
    return Array.from({ length: source.count }, (_, index) => source.tokenAt(index)).join("");
  };

  test("is 64 tokens of seed 1 unless the options say otherwise", () => {
    expect(textOf({})).toBe(textOf({ tokens: 64, seed: 1 }));
  });

  test("takes the request's seed where the options have none", () => {
    expect(textOf({}, 5)).toBe(textOf({ seed: 5 }));
  });
});

test("the input's tokens are counted over all its messages", () => {
  expect(countInputTokens({ model: "sim", input: "one two" })).toBe(2);
  const input = [
    { role: "system", content: "one two" } as const,
    { role: "user", content: "three" } as const,
  ];
  expect(countInputTokens({ model: "sim", input })).toBe(3);
});

test("a long input is taken to continue as it begins", () => {
  const count = (input: string) => countInputTokens({ model: "sim", input });
  const words = "one two ".repeat(100_000);
  expect(count(words) / countTokens(words)).toBeCloseTo(1, 3);
  expect(count("x".repeat(64 * 1_024))).toBe(countTokens("x".repeat(64 * 1_024)));
});
