import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Reservation } from "./byte-budget.ts";
import { FairQueue, type FairQueueOptions, type Load } from "./fair-queue.ts";

/** A loop that is busy for as long as a test says, and on which a rest is a turn. */
class FakeLoad implements Load {
  busy = 0;
  readonly rests: number[] = [];

  busyMs = () => this.busy;

  rest(next: () => void, ms: number): void {
    if (ms > 0) this.rests.push(ms);
    setImmediate(next);
  }
}

interface Begun {
  readonly tenant: string;
  readonly place: Reservation;
}

function open(maxBytes: number, options: FairQueueOptions = {}) {
  const load = new FakeLoad();
  const queue = new FairQueue(maxBytes, { load, ...options });
  const begun: Begun[] = [];
  return {
    queue,
    load,
    begun,
    /** Enters `count` requests of one byte each, and notes when they begin. */
    enter: (tenant: string, count: number) => {
      for (let i = 0; i < count; i++)
        void queue.enter(tenant, 1).then((place) => begun.push({ tenant, place: place! }));
    },
    leave: (index: number) => begun[index]!.place.release(),
  };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

test("a limited number of bytes is under way at a time, and the next begins when one has left", async () => {
  const { begun, enter, leave } = open(2);
  enter("a", 5);
  await turns(10);
  expect(begun).toHaveLength(2);
  leave(0);
  leave(0);
  await turns(10);
  expect(begun).toHaveLength(3);
});

test("tenants take turns, however many one of them has waiting", async () => {
  const { begun, enter, leave } = open(1);
  enter("flood", 100);
  enter("other", 2);
  for (let i = 0; i < 4; i++) {
    await turns(3);
    leave(i);
  }
  await turns(3);
  expect(begun.map(({ tenant }) => tenant)).toEqual(["flood", "flood", "other", "flood", "other"]);
});

test("no two begin in one turn of the event loop", async () => {
  const { begun, enter } = open(100);
  enter("a", 10);
  await turn();
  const before = begun.length;
  await turn();
  expect(begun.length - before).toBeLessThanOrEqual(1);
  await turns(20);
  expect(begun).toHaveLength(10);
});

test("one that is larger than all that may be under way goes alone", async () => {
  const { queue, begun, enter, leave } = open(2);
  enter("a", 1);
  void queue.enter("b", 5).then((place) => begun.push({ tenant: "b", place: place! }));
  await turns(5);
  expect(begun).toHaveLength(1);
  leave(0);
  await turns(5);
  expect(begun.map(({ tenant }) => tenant)).toEqual(["a", "b"]);
});

test("after one that has left there is a rest, twelve times as long as the loop was busy meanwhile, a second at most", async () => {
  const { load, begun, enter, leave } = open(1);
  enter("a", 3);
  await turns(3);
  load.busy += 20;
  leave(0);
  expect(load.rests).toEqual([240]);
  expect(begun).toHaveLength(1);
  await turns(3);
  expect(begun).toHaveLength(2);
  load.busy += 2_000;
  leave(1);
  expect(load.rests).toEqual([240, 1_000]);
});

test("a rest is as long as it is asked for, and the loop is known to have been busy", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = new FairQueue(1);
  const first = await queue.enter("a", 1);
  await turns(2);
  vi.runOnlyPendingTimers();
  const untilMs = performance.now() + 20;
  while (performance.now() < untilMs);
  first!.release();
  let hasBegun = false;
  void queue.enter("a", 1).then(() => (hasBegun = true));
  await turns(2);
  vi.advanceTimersByTime(12 * 20 - 1);
  await turns(2);
  expect(hasBegun).toBe(false);
  // No rest is longer than a second.
  vi.advanceTimersByTime(1_000);
  await turns(2);
  expect(hasBegun).toBe(true);
});

test("one whose turn does not come in time is refused, and leaves no place taken", async () => {
  const queue = new FairQueue(1, { load: new FakeLoad(), maxWaitMs: 20 });
  const first = await queue.enter("a", 1);
  expect(await Promise.all([queue.enter("a", 1), queue.enter("b", 1)])).toEqual([undefined, undefined]);
  first!.release();
  await turns(3);
  expect(await queue.enter("b", 1)).toBeDefined();
});

test("a tenant that has its part waits for one of its own to leave, and others go past it", async () => {
  const { begun, enter, leave } = open(8, { maxOfTenant: 3 });
  enter("flood", 100);
  enter("other", 2);
  await turns(20);
  expect(begun.map(({ tenant }) => tenant)).toEqual(["flood", "flood", "other", "flood", "other"]);
  leave(2);
  await turns(5);
  expect(begun).toHaveLength(5);
  leave(0);
  await turns(5);
  expect(begun.map(({ tenant }) => tenant).slice(5)).toEqual(["flood"]);
});
