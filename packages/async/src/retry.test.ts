import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backoffMs, retry, retryRejected } from "./retry.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Attempts that resolve with undefined until this number of them failed. */
function succeedsAfter(failures: number) {
  return vi.fn(async (attempts: number) => (attempts < failures ? undefined : `after ${attempts}`));
}

test("returns the first result that is not undefined, without a pause when the first attempt has it", async () => {
  const attempt = succeedsAfter(0);
  expect(await retry(attempt, { pauseMs: 1_000 })).toBe("after 0");
  expect(vi.getTimerCount()).toBe(0);
});

test("a result of null, false or 0 is a result", async () => {
  expect(await retry(async () => null, { pauseMs: 1 })).toBeNull();
  expect(await retry(async () => false, { pauseMs: 1 })).toBe(false);
  expect(await retry(async () => 0, { pauseMs: 1 })).toBe(0);
});

test("a rejection ends the retries", async () => {
  const attempt = vi.fn().mockRejectedValue(new Error("not transient"));
  await expect(retry(attempt, { pauseMs: 1 })).rejects.toThrow("not transient");
  expect(attempt).toHaveBeenCalledTimes(1);
});

test("stops after the given number of attempts, without a pause after the last", async () => {
  const attempt = succeedsAfter(9);
  const result = retry(attempt, { pauseMs: 100, maxAttempts: 3 });
  await vi.advanceTimersByTimeAsync(200);
  expect(await result).toBeUndefined();
  expect(attempt.mock.calls).toEqual([[0], [1], [2]]);
  expect(vi.getTimerCount()).toBe(0);
});

test("begins no attempt after its budget", async () => {
  const attempt = succeedsAfter(99);
  const result = retry(attempt, { pauseMs: 100, budgetMs: 1_000 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await result).toBeUndefined();
  const made = attempt.mock.calls.length;
  expect(made).toBeGreaterThanOrEqual(10);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(attempt).toHaveBeenCalledTimes(made);
});

test("an abort ends the pause at once, and no attempt follows", async () => {
  const stop = new AbortController();
  const attempt = succeedsAfter(9);
  const result = retry(attempt, { pauseMs: 60_000, signal: stop.signal });
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  expect(await result).toBeUndefined();
  expect(attempt).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("makes no attempt when the signal is aborted already", async () => {
  const attempt = succeedsAfter(0);
  expect(await retry(attempt, { pauseMs: 1, signal: AbortSignal.abort() })).toBeUndefined();
  expect(attempt).not.toHaveBeenCalled();
});

test("pauses double up to the longest, and are between half of it and all of it", () => {
  expect([0, 1, 2, 3, 4].map((attempts) => backoffMs(attempts, 100, 500, 1))).toEqual([
    100, 200, 400, 500, 500,
  ]);
  expect(backoffMs(2, 100, 500, 0)).toBe(200);
  expect(backoffMs(2_000, 100, 500, 1)).toBe(500);
});

/** Rejects this number of times with this error, and then resolves. */
function rejectsUntil(times: number, error: Error) {
  let calls = 0;
  return vi.fn(async () => {
    if (calls++ < times) throw error;
    return "done";
  });
}

const away = new Error("away");
const isAway = (error: unknown) => error === away;

test("repeats a call that rejects with what is transient, and resolves with what it resolves with", async () => {
  const call = rejectsUntil(2, away);
  const result = retryRejected(call, isAway, { pauseMs: 100 });
  await vi.advanceTimersByTimeAsync(200);
  expect(await result).toBe("done");
  expect(call).toHaveBeenCalledTimes(3);
});

test("rejects with what is not transient at once, and with the last rejection when the attempts are used up", async () => {
  await expect(retryRejected(rejectsUntil(1, away), () => false, { pauseMs: 100 })).rejects.toBe(away);
  await expect(retryRejected(rejectsUntil(1, away), isAway, { pauseMs: 1, maxAttempts: 1 })).rejects.toBe(
    away,
  );
});

test("rejects with the signal's reason once that is aborted", async () => {
  const stop = new AbortController();
  const result = expect(
    retryRejected(rejectsUntil(9, away), isAway, { pauseMs: 60_000, signal: stop.signal }),
  ).rejects.toThrow("stopped");
  await vi.advanceTimersByTimeAsync(0);
  stop.abort(new Error("stopped"));
  await result;
  expect(vi.getTimerCount()).toBe(0);
});
