import { parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { JobSlots } from "./job-slots.ts";

const never = new AbortController().signal;

const acme = parseTenantId("acme");
const globex = parseTenantId("globex");

function openSlots(count: number) {
  const events: string[] = [];
  const slots = new JobSlots(count, {
    onFreed: (tenant) => events.push(`freed ${tenant}`),
    onOccupied: (tenant) => events.push(`occupied ${tenant}`),
    onPassed: (from, to) => events.push(`passed ${from} ${to}`),
  });
  return { slots, events };
}

test("a parked job's slot is another's, and it has it back once that one has ended", async () => {
  const { slots, events } = openSlots(1);
  const first = slots.take(acme);
  first.park();
  const second = slots.take(globex);
  let back = false;
  const unparked = first.unpark(never).then(() => (back = true));
  expect([back, events]).toEqual([false, ["freed acme"]]);
  second.end();
  await unparked;
  expect([slots.parked, events]).toEqual([0, ["freed acme", "passed globex acme"]]);
});

test("waiting jobs get free slots in order, before more jobs are requested from the queue", async () => {
  const { slots, events } = openSlots(1);
  const jobs = [slots.take(acme)];
  jobs[0]!.park();
  jobs.push(slots.take(acme));
  jobs[1]!.park();
  const last = slots.take(acme);
  const order: number[] = [];
  const both = [0, 1].map((i) =>
    jobs[i]!.unpark(never).then(() => {
      order.push(i);
      jobs[i]!.end();
    }),
  );
  const before = events.length;
  last.end();
  await Promise.all(both);
  expect([order, events.slice(before)]).toEqual([
    [0, 1],
    ["passed acme acme", "passed acme acme", "freed acme"],
  ]);
});

test("a parked job takes a slot that is free", async () => {
  const { slots, events } = openSlots(2);
  const job = slots.take(acme);
  job.park();
  await job.unpark(never);
  expect([slots.parked, events]).toEqual([0, ["freed acme", "occupied acme"]]);
});

test("a job that ends while it is parked, or gives up waiting, takes no slot with it", async () => {
  const { slots, events } = openSlots(1);
  const parked = slots.take(acme);
  parked.park();
  const other = slots.take(globex);
  const stop = new AbortController();
  const waiting = parked.unpark(stop.signal);
  stop.abort();
  await waiting;
  parked.end();
  other.end();
  expect([slots.parked, events]).toEqual([0, ["freed acme", "freed globex"]]);
});
