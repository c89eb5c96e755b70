import { parseTenantId, type Priority } from "@reprise/protocol";
import { expect, test } from "vitest";
import { JobSlots } from "./job-slots.ts";

const never = new AbortController().signal;
const acme = parseTenantId("acme");
const globex = parseTenantId("globex");

function openSlots() {
  const told: string[] = [];
  const slots = new JobSlots((input) => {
    const words = [input.kind, "tenant" in input && input.tenant, "jobs" in input && input.jobs];
    told.push(words.filter((word) => word !== false).join(" "));
  });
  const start = (tenant = acme, priority: Priority = "interactive") => slots.start({ tenant, priority });
  return { slots, told, start };
}

test("a parked job tells when it lets go of its slot, and when it wants one; it continues when it is given one", async () => {
  const { slots, told, start } = openSlots();
  const job = start();
  job.park();
  let back = false;
  const unparked = job.unpark(never).then(() => (back = true));
  expect([back, slots.parked, told]).toEqual([false, 1, ["freed acme", "wants_slot acme"]]);
  slots.resume(job.lane);
  await unparked;
  expect(slots.parked).toBe(0);
  job.end();
  expect(told.at(-1)).toBe("freed acme");
});

test("of a lane's waiting jobs the one that has waited the longest continues", async () => {
  const { slots, start } = openSlots();
  const order: string[] = [];
  const wait = (name: string, tenant: typeof acme) => {
    const job = start(tenant);
    job.park();
    return job.unpark(never).then(() => order.push(name));
  };
  const waiting = [wait("first", acme), wait("other", globex), wait("second", acme)];
  const lane = { tenant: acme, priority: "interactive" } as const;
  slots.resume(lane);
  await waiting[0];
  expect(order).toEqual(["first"]);
  slots.resume(lane);
  await waiting[2];
  expect(order).toEqual(["first", "second"]);
  slots.resume({ ...lane, tenant: globex });
  await waiting[1];
});

test("a job that ends while it is parked, or gives up waiting, takes no slot with it", async () => {
  const { slots, told, start } = openSlots();
  const job = start();
  job.park();
  const stop = new AbortController();
  const waiting = job.unpark(stop.signal);
  stop.abort();
  await waiting;
  job.end();
  expect([slots.parked, told]).toEqual([0, ["freed acme", "wants_slot acme", "gave_up acme"]]);
});

test("a job that has ended when it is given a slot lets go of it", async () => {
  const { slots, told, start } = openSlots();
  const job = start();
  job.park();
  const waiting = job.unpark(never);
  job.end();
  slots.resume(job.lane);
  await waiting;
  expect([slots.parked, told]).toEqual([0, ["freed acme", "wants_slot acme", "freed acme"]]);
});

/** Four jobs of which three can be handed over, and one of acme's has lost its slot. */
function openYielding() {
  const opened = openSlots();
  const { slots, told, start } = opened;
  const yielded: string[] = [];
  const jobs = [start(acme, "batch"), start(acme, "batch"), start(globex, "batch"), start(acme)] as const;
  for (const [i, job] of jobs.entries()) job.setYield(() => yielded.push(`job ${i}`));
  expect(told).toEqual(["yieldable acme 1", "yieldable acme 2", "yieldable globex 1"]);
  slots.takeFrom(acme);
  told.length = 0;
  return { ...opened, jobs, yielded };
}

test("the tenant's youngest batch job that can be handed over loses its slot, is told once, and frees none when it ends", () => {
  const { slots, told, jobs, yielded } = openYielding();
  expect([yielded, jobs[1].isLost, slots.parked]).toEqual([["job 1"], true, 1]);
  jobs[1].end();
  expect([told, slots.parked]).toEqual([["yieldable acme 1"], 0]);
  slots.takeFrom(acme);
  jobs[0].end();
  expect([yielded, told]).toEqual([
    ["job 1", "job 0"],
    ["yieldable acme 1", "yieldable acme 0"],
  ]);
});

test("a job that has offered its slot again is no younger for that", () => {
  const told: string[] = [];
  const { slots, start } = openSlots();
  const [older, younger] = [start(acme, "batch"), start(acme, "batch")];
  for (const [name, slot] of [
    ["older", older],
    ["younger", younger],
    ["older", older],
  ] as const) {
    slot.setYield(undefined);
    slot.setYield(() => told.push(name));
  }
  slots.takeFrom(acme);
  expect(told).toEqual(["younger"]);
});

test("while a job that has lost its slot still runs, its tenant's others can't be handed over", () => {
  const { told, jobs } = openYielding();
  jobs[0].setYield(undefined);
  jobs[0].setYield(() => undefined);
  jobs[2].setYield(undefined);
  expect(told).toEqual(["yieldable acme 0", "yieldable acme 0", "yieldable globex 0"]);
});

test("a job that has lost its slot and is parked wants one again", async () => {
  const { slots, told, jobs } = openYielding();
  const [, lost] = jobs;
  lost.park();
  expect([lost.isLost, told, slots.parked]).toEqual([false, ["yieldable acme 1"], 1]);
  const unparked = lost.unpark(never);
  slots.resume(lost.lane);
  await unparked;
  expect(slots.parked).toBe(0);
  lost.end();
  expect(told).toEqual(["yieldable acme 1", "wants_slot acme", "freed acme"]);
});

test.each(["park", "end"] as const)("a batch job that has come to its %s can't be handed over", (way) => {
  const { told, start } = openSlots();
  const job = start(acme, "batch");
  job.setYield(() => undefined);
  job[way]();
  expect(told).toEqual(["yieldable acme 1", "yieldable acme 0", "freed acme"]);
});
