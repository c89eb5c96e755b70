import { expect, test } from "vitest";
import { JobSlots } from "./job-slot.ts";
import { PullCredit } from "./pull-credit.ts";

const never = new AbortController().signal;

function openSlots(count: number) {
  const credit = new PullCredit(count);
  let freed = 0;
  const slots = new JobSlots(credit, () => freed++);
  return {
    slots,
    get freed() {
      return freed;
    },
  };
}

test("a parked job's slot is another's, and it has it back once that one has ended", async () => {
  const desk = openSlots(1);
  const first = desk.slots.take()!;
  expect(desk.slots.take()).toBeUndefined();
  first.park();
  const second = desk.slots.take()!;
  let back = false;
  const unparked = first.unpark(never).then(() => (back = true));
  expect(back).toBe(false);
  second.end();
  await unparked;
  expect(desk.slots.take()).toBeUndefined();
  expect(desk.slots.parked).toBe(0);
});

test("waiting jobs get free slots in order, before more jobs are requested from the queue", async () => {
  const desk = openSlots(1);
  const jobs = [desk.slots.take()!];
  jobs[0]!.park();
  jobs.push(desk.slots.take()!);
  jobs[1]!.park();
  const last = desk.slots.take()!;
  const order: number[] = [];
  const both = [0, 1].map((i) =>
    jobs[i]!.unpark(never).then(() => {
      order.push(i);
      jobs[i]!.end();
    }),
  );
  const before = desk.freed;
  last.end();
  await Promise.all(both);
  expect(order).toEqual([0, 1]);
  expect(desk.freed).toBe(before + 1);
});

test("a job that ends while it is parked, or gives up waiting, takes no slot with it", async () => {
  const desk = openSlots(1);
  const parked = desk.slots.take()!;
  parked.park();
  const other = desk.slots.take()!;
  const stop = new AbortController();
  const waiting = parked.unpark(stop.signal);
  stop.abort();
  await waiting;
  parked.end();
  other.end();
  expect(desk.slots.parked).toBe(0);
  expect(desk.slots.take()).toBeDefined();
  expect(desk.slots.take()).toBeUndefined();
});
