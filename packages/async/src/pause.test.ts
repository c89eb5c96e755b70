import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pause, waitAtMost } from "./pause.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("waits for work that ends in time, and leaves no timer", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = waitAtMost(1_000, promise);
  resolve();
  await waiting;
  expect(vi.getTimerCount()).toBe(0);
});

test("rejects as the work does", async () => {
  await expect(waitAtMost(1_000, Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(vi.getTimerCount()).toBe(0);
});

test("gives up waiting when the time is up", async () => {
  const waiting = waitAtMost(1_000, new Promise(() => {}));
  await vi.advanceTimersByTimeAsync(1_000);
  await waiting;
});

test("a pause leaves no listener on its signal", async () => {
  const { signal } = new AbortController();
  const remove = vi.spyOn(signal, "removeEventListener");
  const waiting = pause(1_000, signal);
  await vi.advanceTimersByTimeAsync(1_000);
  await waiting;
  expect(remove).toHaveBeenCalledWith("abort", expect.any(Function));
});
