import { expect, test } from "vitest";
import { addTurnRest, toCallCount, toTurnRest } from "./usage.ts";

/** The usage of a log with this many output tokens. */
const logged = (output_tokens: number, input_tokens: number | null = null) => ({
  input_tokens,
  output_tokens,
});
const turn = (counted: number, reasoned = 0) => ({ counted, reasoned });

test("the log counts where no engine gives a count of its own", () => {
  expect(addTurnRest(logged(38), toTurnRest(turn(38), undefined))).toEqual(logged(38));
  expect(toCallCount(toTurnRest(turn(38), undefined), logged(0))).toEqual({});
});

test("an engine's own count takes the place of ours of its chunks", () => {
  const rest = toTurnRest(turn(38), { input_tokens: 7, output_tokens: 40 });
  expect(addTurnRest(logged(38), rest)).toEqual(logged(40, 7));
});

test("a count of the last turn that is smaller than ours is kept too: a chunk may hold no whole token", () => {
  expect(addTurnRest(logged(38), toTurnRest(turn(38), { output_tokens: 30 })).output_tokens).toBe(30);
});

test("a turn that ends with a call never takes back tokens of deltas", () => {
  const rest = toTurnRest(turn(38, 2), { output_tokens: 30, reasoning_tokens: 1 });
  expect(toCallCount(rest, logged(0))).toEqual({ reasoning_tokens: 0 });
});

test("the output of other attempts and turns stays", () => {
  const rest = toTurnRest(turn(5), { input_tokens: 7, output_tokens: 6 });
  expect(addTurnRest(logged(10 + 5), rest).output_tokens).toBe(16);
});

test("what an engine reports as input because it was told of it again does not count as input", () => {
  const rest = toTurnRest(turn(5), { input_tokens: 17, output_tokens: 5, cached_input_tokens: 12 });
  expect(addTurnRest({ ...logged(10, 7), cached_input_tokens: 0 }, rest)).toEqual({
    ...logged(10, 7),
    cached_input_tokens: 0,
  });
  expect(toCallCount(rest, { ...logged(5, 7), cached_input_tokens: 0 })).toEqual({});
  expect(toCallCount(rest, logged(5))).toEqual({ input_tokens: 17, cached_input_tokens: 12 });
});

test("reasoning that is hidden is counted beside reasoning that was shown", () => {
  const rest = toTurnRest(turn(10, 4), { output_tokens: 16, reasoning_tokens: 9 });
  expect(toCallCount(rest, logged(0))).toEqual({ tokens: 6, reasoning_tokens: 5 });
  expect(addTurnRest({ ...logged(10), reasoning_tokens: 4 }, rest)).toEqual({
    ...logged(16),
    reasoning_tokens: 9,
  });
});

test("reasoning of earlier turns is counted where the last engine says nothing of its own", () => {
  const rest = toTurnRest(turn(10), { output_tokens: 10 });
  expect(addTurnRest({ ...logged(20), reasoning_tokens: 3 }, rest).reasoning_tokens).toBe(3);
});

test("audio is counted as it was known first of the input, and over all turns of the output", () => {
  const reported = { input_tokens: 7, output_tokens: 6, audio_input_tokens: 3, audio_output_tokens: 4 };
  const rest = toTurnRest(turn(5), reported);
  expect(toCallCount(rest, logged(0, 7))).toEqual({
    tokens: 1,
    audio_input_tokens: 3,
    audio_output_tokens: 4,
  });
  expect(addTurnRest(logged(5, 7), rest)).toEqual({
    ...logged(6, 7),
    audio_input_tokens: 3,
    audio_output_tokens: 4,
  });
  const before = { ...logged(20, 7), audio_input_tokens: 2, audio_output_tokens: 1 };
  expect(addTurnRest(before, rest)).toMatchObject({ audio_input_tokens: 2, audio_output_tokens: 5 });
  expect(toCallCount(rest, before)).toEqual({ tokens: 1, audio_output_tokens: 4 });
});
