import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryCounters } from "./memory-counters.ts";

const LIMIT = 1_000;
const WINDOW_MS = 60_000;
const QUOTA = { kind: "rate", name: "tokens", key: "k", limit: LIMIT, windowMs: WINDOW_MS } as const;

const anyGeneration = fc.record({
  pauseMs: fc.integer({ min: 0, max: 30_000 }),
  reserved: fc.integer({ min: 1, max: LIMIT }),
  usedPart: fc.double({ min: 0, max: 1, noNaN: true }),
  runsMs: fc.integer({ min: 0, max: 180_000 }),
});

test("what generations use stays within the limit, however much more they reserve and however long they run", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyGeneration, { minLength: 1, maxLength: 60 }), async (generations) => {
      let nowMs = 0;
      const counters = new MemoryCounters(() => nowMs);
      const running: { endsAtMs: number; reserved: number; used: number }[] = [];
      let used = 0;
      for (const { pauseMs, reserved, usedPart, runsMs } of generations) {
        const startsAtMs = nowMs + pauseMs;
        running.sort((one, other) => one.endsAtMs - other.endsAtMs);
        while (running[0] && running[0].endsAtMs <= startsAtMs) {
          const [ended] = running.splice(0, 1);
          if (!ended) break;
          nowMs = Math.max(nowMs, ended.endsAtMs);
          await counters.settle(QUOTA, ended.used - ended.reserved);
        }
        nowMs = startsAtMs;
        const { refused } = await counters.take([{ ...QUOTA, cost: reserved }]);
        if (refused) continue;
        const generation = { endsAtMs: nowMs + runsMs, reserved, used: Math.floor(reserved * usedPart) };
        running.push(generation);
        used += generation.used;
        expect(used).toBeLessThanOrEqual(LIMIT + (nowMs * LIMIT) / WINDOW_MS + 1);
      }
    }),
    { numRuns: 300 },
  );
});

test("what generations use stays within the limit on average, however much more than reserved it is: none begins before it has come back", async () => {
  const anyGreedy = fc.record({
    pauseMs: fc.integer({ min: 0, max: 300_000 }),
    reserved: fc.integer({ min: 1, max: LIMIT }),
    used: fc.integer({ min: 0, max: 5 * LIMIT }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyGreedy, { minLength: 1, maxLength: 12 }), async (generations) => {
      let nowMs = 0;
      const counters = new MemoryCounters(() => nowMs);
      let used = 0;
      for (const { pauseMs, reserved, used: uses } of generations) {
        nowMs += pauseMs;
        const { refused } = await counters.take([{ ...QUOTA, cost: reserved }]);
        if (refused) continue;
        expect(used + reserved).toBeLessThanOrEqual(LIMIT + (nowMs * LIMIT) / WINDOW_MS + 1);
        await counters.settle(QUOTA, uses - reserved);
        used += uses;
      }
    }),
    { numRuns: 300 },
  );
});

test("a generation that uses little of what it has reserved leaves the rest to others, though it has run for long", async () => {
  let nowMs = 0;
  const counters = new MemoryCounters(() => nowMs);
  await counters.take([{ ...QUOTA, cost: 900 }]);
  nowMs = 50_000;
  await counters.take([{ ...QUOTA, cost: 900 }]);
  await counters.settle(QUOTA, 10 - 900);
  expect((await counters.take([{ ...QUOTA, cost: 900 }])).refused).toBeUndefined();
});
