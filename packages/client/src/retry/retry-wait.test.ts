import { describe, expect, it } from "vitest";
import { waitForRetry } from "./retry-wait.ts";
import type { ClientRuntime } from "./runtime.ts";

/** A clock, a timer and a wake-up that the test moves. */
function createDevice() {
  let nowMs = 0;
  let timer: { callback: () => void; atMs: number } | undefined;
  const listeners = new Set<() => void>();
  const runtime: ClientRuntime = {
    now: () => nowMs,
    random: () => 0.5,
    setTimer(callback, delayMs) {
      const mine = { callback, atMs: nowMs + delayMs };
      timer = mine;
      return () => {
        if (timer === mine) timer = undefined;
      };
    },
    onWake(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  };
  return {
    runtime,
    listeners,
    get timerAtMs() {
      return timer?.atMs;
    },
    wakeAt(ms: number) {
      nowMs = ms;
      for (const callback of listeners) callback();
    },
    fireAt(ms: number) {
      nowMs = ms;
      timer!.callback();
    },
  };
}

const delay = { serverMs: 2_000, backoffMs: 6_000, wakeMs: 100 };
const { signal } = new AbortController();

describe("the wait before a retry", () => {
  it.each([
    ["lasts for the server's delay and the backoff where nothing wakes it", 8_004, false],
    ["takes a timer of a hidden page, which browsers delay by up to a minute, for no wake-up", 68_000, false],
    ["takes a timer that fires much too late for a wake-up: the device slept", 600_000, true],
  ])("%s", async (_, firesAtMs, isWoken) => {
    const device = createDevice();
    const waiting = waitForRetry(delay, device.runtime, signal);
    expect(device.timerAtMs).toBe(8_000);
    device.fireAt(firesAtMs);
    expect(await waiting).toBe(isWoken);
    expect(device.listeners.size).toBe(0);
  });

  it("ends with a wake-up, but for a jitter", async () => {
    const device = createDevice();
    const waiting = waitForRetry(delay, device.runtime, signal);
    device.wakeAt(5_000);
    expect(device.timerAtMs).toBe(5_100);
    device.fireAt(5_100);
    expect(await waiting).toBe(true);
  });

  it("keeps the server's delay through any number of wake-ups", async () => {
    const device = createDevice();
    const waiting = waitForRetry(delay, device.runtime, signal);
    device.wakeAt(500);
    device.wakeAt(900);
    expect(device.timerAtMs).toBe(2_100);
    device.fireAt(2_100);
    expect(await waiting).toBe(true);
  });

  it("ends with its signal, and leaves neither timer nor listener behind", async () => {
    const device = createDevice();
    const controller = new AbortController();
    const waiting = waitForRetry(delay, device.runtime, controller.signal);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect([device.timerAtMs, device.listeners.size]).toEqual([undefined, 0]);
    await expect(waitForRetry(delay, device.runtime, controller.signal)).rejects.toThrow("enough");
  });
});
