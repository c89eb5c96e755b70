import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { YieldPause } from "./yield-pause.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const TEN_MINUTES_MS = 600_000;
const PUBLISH_MS = 20;

/** Simulates a writer that is asked to yield before each of its publishes, for ten minutes. */
async function flood(
  pause: YieldPause,
  afterPause: () => void,
): Promise<{ pausedMs: number; unheard: number }> {
  let [pausedMs, unheard] = [0, 0];
  while (performance.now() < TEN_MINUTES_MS) {
    pause.request();
    if (pause.isRequested) {
      const beganMs = performance.now();
      const ended = pause.wait().then(() => performance.now());
      await vi.advanceTimersByTimeAsync(1_000);
      pausedMs += (await ended) - beganMs;
      afterPause();
    } else unheard++;
    vi.advanceTimersByTime(PUBLISH_MS);
  }
  return { pausedMs, unheard };
}

test("a flood of requests that no event follows pauses a writer for a tenth of its time at most", async () => {
  const { pausedMs, unheard } = await flood(new YieldPause(), () => {});
  expect(pausedMs).toBeLessThan(TEN_MINUTES_MS / 10);
  expect(unheard).toBeGreaterThan(0);
});

test("requests that events follow are all heard", async () => {
  const pause = new YieldPause();
  expect((await flood(pause, () => pause.reset())).unheard).toBe(0);
});
