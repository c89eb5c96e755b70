import { expect, test } from "vitest";
import { planReviewWait } from "./review-wait.ts";
import { cursorOf, generationOf } from "../testing/fake-log.ts";
import { numbered } from "../testing/example-log.ts";

const NOW_MS = Date.parse("2026-11-21T00:00:00Z");
const end = {
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 1, output_tokens: 1 },
};
const ended = generationOf(
  numbered([{ type: "generation.started", attempt: 1, worker: "w", model: "sim" }, end]),
);
const plan = (
  expiresInMs: readonly number[],
  { cursor = cursorOf(2), random = 0, asked = 0, settled = expiresInMs.length === 0 } = {},
) => {
  const reviews = expiresInMs.map((ms, i) => ({
    id: `r${i}`,
    expires_at: new Date(NOW_MS + ms).toISOString(),
  }));
  const policy = { reviewDelayMs: 30_000 };
  return planReviewWait({ ...ended, reviews, settled }, { cursor, asked, nowMs: NOW_MS, random, policy })
    ?.backoffMs;
};

test("a reader that has all of a settled generation waits for nothing", () => {
  expect(plan([])).toBeUndefined();
});

test("what was decided meanwhile is asked for soon", () => {
  expect(plan([], { cursor: cursorOf(1) })).toBe(1_000);
});

test("people are asked after every half a minute, sooner where the first review's time is up before", () => {
  expect(plan([3_600_000])).toBe(30_000);
  expect(plan([3_600_000], { random: 0.5 })).toBe(33_750);
  expect(plan([3_600_000, 10_000])).toBe(11_000);
});

test("a review whose time is up and that is not decided makes no reader ask more often", () => {
  expect(plan([-3_600_000])).toBe(30_000);
  expect(plan([-3_600_000, 10_000])).toBe(11_000);
});

test("what no review has to decide and does not come is asked for later each time, up to half a minute", () => {
  const unsettled = (asked: number) => plan([], { settled: false, asked });
  expect([0, 1, 2, 4, 5, 2_000].map(unsettled)).toEqual([1_000, 2_000, 4_000, 16_000, 30_000, 30_000]);
});
