import { expect, test } from "vitest";
import { totalUsage } from "./usage.ts";

const NOTHING = { input_tokens: null, output_tokens: 0 };

test("the engine's own counts stand where it gives them", () => {
  const reported = { input_tokens: 7, output_tokens: 40 };
  expect(totalUsage(NOTHING, 38, reported)).toEqual({ input_tokens: 7, output_tokens: 40 });
});

test("our count of its chunks stands in for an output count that the engine does not give", () => {
  expect(totalUsage(NOTHING, 38, undefined)).toEqual({ input_tokens: null, output_tokens: 38 });
});

test("the output of earlier attempts is added, whoever counted this one's", () => {
  const before = { input_tokens: 7, output_tokens: 10 };
  expect(totalUsage(before, 5, undefined).output_tokens).toBe(15);
  expect(totalUsage(before, 5, { input_tokens: 7, output_tokens: 6 }).output_tokens).toBe(16);
});

test("a prefix that the engine reports as input does not count as input", () => {
  const before = { input_tokens: 7, output_tokens: 10 };
  expect(totalUsage(before, 5, { input_tokens: 17, output_tokens: 5 }).input_tokens).toBe(7);
});
