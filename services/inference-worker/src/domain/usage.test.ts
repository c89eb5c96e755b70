import { expect, test } from "vitest";
import { UsageTally } from "./usage.ts";

/** What the log says of so many tokens of output. */
const logged = (output_tokens: number, input_tokens: number | null = null) => ({
  input_tokens,
  output_tokens,
});

test("what the log says stands where no engine gives a count of its own", () => {
  const tally = new UsageTally();
  expect(tally.total(logged(38))).toEqual({ input_tokens: null, output_tokens: 38 });
  tally.add(38, undefined);
  expect(tally.total(logged(38))).toEqual({ input_tokens: null, output_tokens: 38 });
});

test("an engine's own count takes the place of ours of its chunks", () => {
  const tally = new UsageTally();
  tally.add(38, { input_tokens: 7, output_tokens: 40 });
  expect(tally.total(logged(38))).toEqual({ input_tokens: 7, output_tokens: 40 });
});

test("a count that is smaller than ours stands too: a chunk may hold no whole token", () => {
  const tally = new UsageTally();
  tally.add(38, { output_tokens: 30 });
  expect(tally.total(logged(38)).output_tokens).toBe(30);
});

test("adds the output of other attempts and turns, counted by any engine or by chunks", () => {
  const tally = new UsageTally();
  tally.add(5, { input_tokens: 7, output_tokens: 6 });
  tally.add(3, undefined);
  expect(tally.total(logged(10 + 5 + 3)).output_tokens).toBe(19);
});

test("what an engine reports as input because it was told of it again does not count as input", () => {
  const tally = new UsageTally();
  tally.add(5, { input_tokens: 7, output_tokens: 5 });
  tally.add(5, { input_tokens: 17, output_tokens: 5 });
  expect(tally.total(logged(10)).input_tokens).toBe(7);
  expect(tally.total(logged(10, 2)).input_tokens).toBe(2);
});
