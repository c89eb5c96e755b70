import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { FairQueue, restFromBusy } from "./fair-queue.ts";

/** A turn of the event loop, in which nothing takes time. */
const rest = (next: () => void) => void setImmediate(next);

/** Enters so many of one byte each, and notes when they begin. */
function enter(queue: FairQueue, begun: string[], tenant: string, count: number): void {
  for (let i = 0; i < count; i++) void queue.enter(tenant, 1).then(() => begun.push(tenant));
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

test("so many bytes are under way at a time, and the next begins when one has left", async () => {
  const queue = new FairQueue(2, rest);
  const begun: string[] = [];
  enter(queue, begun, "a", 5);
  await turns(10);
  expect(begun).toHaveLength(2);
  queue.leave(1);
  await turns(10);
  expect(begun).toHaveLength(3);
});

test("tenants take turns, however many one of them has waiting", async () => {
  const queue = new FairQueue(1, rest);
  const begun: string[] = [];
  enter(queue, begun, "flood", 100);
  enter(queue, begun, "other", 2);
  for (let i = 0; i < 4; i++) {
    await turns(2);
    queue.leave(1);
  }
  await turns(2);
  expect(begun).toEqual(["flood", "flood", "other", "flood", "other"]);
});

test("no two begin in one turn of the event loop", async () => {
  const queue = new FairQueue(100, rest);
  const begun: string[] = [];
  enter(queue, begun, "a", 10);
  await turn();
  const before = begun.length;
  await turn();
  expect(begun.length - before).toBeLessThanOrEqual(1);
  await turns(20);
  expect(begun).toHaveLength(10);
});

test("one that is larger than all that may be under way goes alone", async () => {
  const queue = new FairQueue(2, rest);
  const begun: string[] = [];
  enter(queue, begun, "a", 1);
  void queue.enter("b", 5).then(() => begun.push("b"));
  await turns(5);
  expect(begun).toEqual(["a"]);
  queue.leave(1);
  await turns(5);
  expect(begun).toEqual(["a", "b"]);
});

test("a rest is three times as long as what ran before it", async () => {
  const begunAt = performance.now();
  const rested = new Promise<void>((resolve) => restFromBusy(resolve));
  while (performance.now() < begunAt + 20);
  const busyMs = performance.now() - begunAt;
  await rested;
  // Timers count whole milliseconds.
  expect(performance.now() - begunAt).toBeGreaterThanOrEqual(4 * busyMs - 2);
});

test("one whose turn does not come in time is refused, and leaves no place taken", async () => {
  const queue = new FairQueue(1, rest, 20);
  expect(await queue.enter("a", 1)).toBe(true);
  expect(await Promise.all([queue.enter("a", 1), queue.enter("b", 1)])).toEqual([false, false]);
  queue.leave(1);
  expect(await queue.enter("b", 1)).toBe(true);
});
