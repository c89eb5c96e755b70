import { expect, test } from "vitest";
import { isFlat, judgeMemory } from "./judge-memory.ts";
import type { MemorySample } from "./process-memory.ts";

const BOUNDS = { heapBytes: 1_000, externalBytes: 1_000, brokerBytes: 1_000, descriptors: 5 };

/** Twelve samples, 100 generations apart. */
function grow(by: Partial<Record<keyof MemorySample, number>>): MemorySample[] {
  return Array.from({ length: 12 }, (_, i) => ({
    generations: i * 100,
    heapBytes: 50e6 + i * 100 * (by.heapBytes ?? 0) + (i % 3) * 10_000,
    externalBytes: 10e6 + i * 100 * (by.externalBytes ?? 0),
    brokerBytes: 80e6 + i * 100 * (by.brokerBytes ?? 0),
    descriptors: 40 + i * (by.descriptors ?? 0),
  }));
}

test("a platform whose memory moves up and down is flat", () => {
  const growths = judgeMemory(grow({}), BOUNDS);
  expect(growths.map(({ name }) => name)).toEqual(["heap", "external memory", "nats-server", "descriptors"]);
  expect(isFlat(growths)).toBe(true);
});

test.for([{ heapBytes: 2_000 }, { externalBytes: 32_768 }, { brokerBytes: 2_000 }, { descriptors: 1 }])(
  "one that grows beyond a bound is not: %o",
  (by) => {
    expect(isFlat(judgeMemory(grow(by), BOUNDS))).toBe(false);
  },
);

test("samples of what is under way decide nothing", () => {
  const samples = grow({}).map((sample, i) =>
    i > 8 ? { ...sample, heapBytes: 900e6, descriptors: 400 } : sample,
  );
  expect(isFlat(judgeMemory(samples, BOUNDS))).toBe(true);
});

test("what has no bound is not judged", () => {
  const { brokerBytes: _, ...bounds } = BOUNDS;
  expect(isFlat(judgeMemory(grow({ brokerBytes: 2_000 }), bounds))).toBe(true);
});

test("too few samples are no soak", () => {
  expect(() => judgeMemory(grow({}).slice(0, 5), BOUNDS)).toThrow(RangeError);
});
