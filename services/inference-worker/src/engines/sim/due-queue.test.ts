import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Due, DueQueue } from "./due-queue.ts";

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
