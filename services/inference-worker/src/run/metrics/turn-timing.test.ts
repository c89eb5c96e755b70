import { createMetrics } from "@reprise/runtime";
import { expect, test } from "vitest";
import { WorkerMetrics } from "./worker-metrics.ts";

test("the longest wait for an engine is one behind its first chunk", () => {
  const timing = new WorkerMetrics(createMetrics({ processMetrics: false })).turn("m", "sim");
  expect(timing.longestWaitMs).toBe(0);
  for (const waitedMs of [9_000, 5, 2_500, 10]) timing.arrived(waitedMs);
  expect(timing.longestWaitMs).toBe(2_500);
});
