import { expect, test } from "vitest";
import { createSeededRandom, withSeed } from "./seeded-random.ts";

test("the same seed gives the same numbers", () => {
  const numbers = (seed: number) => Array.from({ length: 4 }, createSeededRandom(seed).next);
  expect(numbers(1)).toEqual(numbers(1));
  expect(numbers(1)).not.toEqual(numbers(2));
  // mulberry32's published first value for seed 1.
  expect(numbers(1)[0]).toBe(0.6270739405881613);
});

test("whole numbers reach both ends of their range and no further", () => {
  const random = createSeededRandom(7);
  const drawn = new Set(Array.from({ length: 500 }, () => random.integer(-1, 2)));
  expect([...drawn].toSorted((a, b) => a - b)).toEqual([-1, 0, 1, 2]);
});

test("a chance of 0 never comes and one of 1 always does", () => {
  const random = createSeededRandom(7);
  const draws = Array.from({ length: 100 }, () => [random.chance(0), random.chance(1)]);
  expect(draws.every(([never, always]) => !never && always)).toBe(true);
});

test("picks and bytes stay within what there is", () => {
  const random = createSeededRandom(7);
  expect(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b"])))).toEqual(new Set(["a", "b"]));
  expect(() => random.pick([])).toThrow("nothing to pick from");
  expect(random.bytes(1_000)).toHaveLength(1_000);
});

test("a failure names the seed that leads to it", async () => {
  const failing = withSeed(42, () => {
    throw new Error("3 events lost");
  });
  await expect(failing).rejects.toThrow("[seed 42] 3 events lost");
});
