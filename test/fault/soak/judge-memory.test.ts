import { expect, test } from "vitest";
import { isFlat, judgeMemory, type MemorySample } from "./judge-memory.ts";

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

test.for([{ heapBytes: 2_000 }, { externalBytes: 32_768 }, { brokerBytes: 2_000 }, { descriptors: 1 }])(
  "growth beyond a bound is found, and none without it: %o",
  (by) => {
    expect([isFlat(judgeMemory(grow(by), BOUNDS)), isFlat(judgeMemory(grow({}), BOUNDS))]).toEqual([
      false,
      true,
    ]);
  },
);
