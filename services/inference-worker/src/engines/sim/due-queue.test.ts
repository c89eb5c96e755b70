import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Due, DueQueue } from "./due-queue.ts";

test("a due queue returns its entries in the order of their times, for any order of insertion", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -50, max: 50 })), (times) => {
      const queue = new DueQueue<Due>();
      for (const atMs of times) queue.push({ atMs });
      expect(queue.first?.atMs).toBe(times.length === 0 ? undefined : Math.min(...times));
      const given = times.map(() => queue.shift()?.atMs);
      expect(given).toEqual(times.toSorted((a, b) => a - b));
      expect(queue.shift()).toBeUndefined();
    }),
  );
});

test("a due queue stays in order when entries come and go by turns", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 20 }))), (steps) => {
      const queue = new DueQueue<Due>();
      let held: number[] = [];
      for (const step of steps) {
        if (step === null) {
          expect(queue.shift()?.atMs).toBe(held.shift());
        } else {
          queue.push({ atMs: step });
          held = [...held, step].toSorted((a, b) => a - b);
        }
      }
    }),
  );
});
