import { parseTenantId, type TenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { Desk } from "./desk.fixture.ts";

const [acme, globex] = ["acme", "globex"].map(parseTenantId) as [TenantId, TenantId];

test("a tenant's interactive jobs come before its batch jobs, and of one priority those that resume before those in the queue", () => {
  const desk = new Desk({ slots: 1 });
  desk.queue(acme);
  desk.settle();
  desk.park(0);
  desk.queue(acme);
  desk.settle();
  desk.queue(acme, 2, { priority: "batch" });
  desk.queue(acme);
  desk.settle();
  desk.wake(0);
  expect([desk.wanting.length, desk.parked.length]).toEqual([1, 0]);
  desk.end(0);
  desk.settle();
  expect([desk.wanting.length, desk.queuedOf(acme), desk.queuedOf(acme, "batch")]).toEqual([0, 1, 2]);
  desk.end(0);
  desk.settle();
  expect([desk.queuedOf(acme), desk.queuedOf(acme, "batch")]).toEqual([0, 2]);
});

test("a tenant with many jobs that resume gets no more than its share while another tenant has jobs, and no more than its cap", () => {
  const desk = new Desk({ slots: 4, shares: { [acme]: { maxRunning: 3 } } });
  for (let i = 0; i < 10; i++) {
    desk.queue(acme);
    desk.settle();
    desk.park(0);
  }
  for (let i = 0; i < 10; i++) desk.wake(0);
  expect(desk.runningOf(acme)).toBe(3);
  desk.queue(globex, 5);
  desk.settle();
  desk.end(0);
  desk.settle();
  expect([desk.runningOf(acme), desk.runningOf(globex)]).toEqual([2, 2]);
});

test("an interactive job takes the slot of its tenant's batch job at once, which goes back to the queue and runs again later", () => {
  const desk = new Desk({ slots: 2 });
  desk.queue(acme, 3, { priority: "batch" });
  desk.settle();
  desk.queue(acme);
  desk.settle();
  expect(desk.jobs.map(({ priority }) => priority)).toEqual(["batch", "interactive"]);
  expect(desk.queuedOf(acme, "batch")).toBe(2);
  desk.end(1);
  desk.settle();
  expect(desk.runningOf(acme, "batch")).toBe(2);
});

test("a tenant with a cap has no more jobs for its interactive one than before", () => {
  const desk = new Desk({ slots: 10, shares: { [acme]: { maxRunning: 2 } } });
  desk.queue(acme, 3, { priority: "batch" });
  desk.settle();
  desk.queue(acme, 3);
  desk.settle();
  expect([desk.runningOf(acme, "interactive"), desk.runningOf(acme, "batch")]).toEqual([2, 0]);
});

test("an interactive job takes another tenant's batch slot only where that has as many slots as its own tenant will have", () => {
  const desk = new Desk({ slots: 4 });
  desk.queue(acme, 10, { priority: "batch" });
  desk.settle();
  desk.queue(globex, 10);
  desk.settle();
  expect([desk.runningOf(acme), desk.runningOf(globex)]).toEqual([2, 2]);
});

test("a batch job takes no slot from any other job", () => {
  const desk = new Desk({ slots: 4 });
  desk.queue(acme, 10, { priority: "batch" });
  desk.settle();
  desk.queue(globex, 10, { priority: "batch" });
  desk.settle();
  expect([desk.runningOf(acme), desk.runningOf(globex)]).toEqual([4, 0]);
});

test("a parked job that is interactive takes a batch slot when it resumes", () => {
  const desk = new Desk({ slots: 1 });
  desk.queue(acme);
  desk.settle();
  desk.park(0);
  desk.queue(acme, 1, { priority: "batch" });
  desk.settle();
  expect(desk.runningOf(acme, "batch")).toBe(1);
  desk.wake(0);
  desk.settle();
  expect([desk.runningOf(acme, "interactive"), desk.queuedOf(acme, "batch")]).toEqual([1, 1]);
});

test("an interactive job that another worker has taken costs no batch job its slot", () => {
  const desk = new Desk({ slots: 1 });
  desk.queue(acme, 1, { priority: "batch" });
  desk.settle();
  desk.tell({ kind: "heard", tenant: acme, priority: "interactive", streamSeq: 9 });
  desk.settle();
  expect(desk.runningOf(acme, "batch")).toBe(1);
});

test("once pulling has stopped, jobs here still get slots, and what still comes is given back", () => {
  const desk = new Desk({ slots: 1 });
  desk.queue(acme);
  desk.settle();
  desk.park(0);
  desk.queue(acme);
  desk.settle();
  desk.wake(0);
  desk.queue(globex);
  desk.tell({ kind: "stopped" });
  desk.end(0);
  desk.settle();
  expect([desk.running, desk.wanting.length, desk.queuedOf(globex)]).toEqual([[acme], 0, 1]);
});
