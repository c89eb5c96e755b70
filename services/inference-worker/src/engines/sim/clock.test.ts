import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createClock } from "./clock.ts";

afterEach(() => void vi.useRealTimers());

const never = () => new AbortController().signal;

describe("the real clock", () => {
  test("wakes every sleeper on time", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    const clock = createClock();
    const start = clock.now();
    const woken = Promise.all(
      [9, 3, 6, 1, 12, 3].map(async (ms) => {
        using sleeper = clock.createSleeper(never());
        await sleeper.sleepUntil(start + ms);
        return clock.now() - start;
      }),
    );
    await vi.advanceTimersByTimeAsync(20);
    expect(await woken).toEqual([9, 3, 6, 1, 12, 3]);
  });

  test("ends a sleep with the signal's reason, whether it aborts during the sleep or has before", async () => {
    const clock = createClock();
    const abort = new AbortController();
    using sleeper = clock.createSleeper(abort.signal);
    const sleep = sleeper.sleepUntil(Number.POSITIVE_INFINITY);
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    await expect(sleeper.sleepUntil(0)).rejects.toBe(reason);
  });

  test("wakes the others in time when the sleeper that was due first gives up", async () => {
    const clock = createClock();
    const abort = new AbortController();
    using first = clock.createSleeper(abort.signal);
    using second = clock.createSleeper(never());
    const start = clock.now();
    const given = first.sleepUntil(start + 60_000);
    const kept = second.sleepUntil(start + 5);
    abort.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    await kept;
    using third = clock.createSleeper(never());
    await third.sleepUntil(clock.now() + 1);
  });

  test("sleeps through what is further off than a timer reaches", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const clock = createClock();
    const abort = new AbortController();
    using far = clock.createSleeper(abort.signal);
    using near = clock.createSleeper(never());
    const sleep = far.sleepUntil(clock.now() + 1e12);
    await near.sleepUntil(clock.now() + 5);
    abort.abort(new Error("enough"));
    await expect(sleep).rejects.toThrow("enough");
    expect(warnings).toEqual([]);
  });
});
