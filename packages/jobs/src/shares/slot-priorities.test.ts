import { parseTenantId, type TenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { Desk, ROOM } from "./desk.fixture.ts";

const [acme, globex] = ["acme", "globex"].map(parseTenantId) as [TenantId, TenantId];

test("a tenant's interactive jobs come before its batch jobs, and of one priority those that resume before those in the queue", () => {
  const desk = new Desk({ slots: 1, canYield: false });
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

test("a single slot goes from a tenant's batch job to another tenant's interactive one, and not back", () => {
  const desk = new Desk({ slots: 1 });
  desk.queue(acme, 1, { priority: "batch" });
  desk.settle();
  desk.queue(globex);
  desk.settle();
  desk.queue(acme);
  desk.settle();
  expect([desk.running, desk.queuedOf(acme), desk.queuedOf(acme, "batch")]).toEqual([[globex], 1, 1]);
});

test("two jobs that want a slot at the same time do not both take that of one batch job", () => {
  const desk = new Desk({ slots: 3, shares: { [globex]: { maxRunning: 2 } } });
  for (let i = 0; i < 2; i++) {
    desk.queue(globex);
    desk.settle();
    desk.park(0);
  }
  desk.queue(acme, 2);
  desk.queue(acme, 1, { priority: "batch" });
  desk.settle();
  desk.tell({ kind: "others", slots: 2, running: new Map([[globex, 2]]) });
  desk.wake(0);
  desk.wake(0);
  expect(desk.running).toEqual([acme, acme, acme]);
  desk.tell({ kind: "others", slots: 0, running: new Map() });
  expect(desk.running).toEqual([acme, acme, globex]);
});

test("a pull for one job waits for the next interactive job while batch jobs have all slots", () => {
  const desk = new Desk({ slots: 4 });
  desk.queue(acme, 4, { priority: "batch" });
  desk.queue(acme);
  desk.settle();
  desk.end(desk.jobs.findIndex(({ priority }) => priority === "interactive"));
  desk.settle();
  expect(desk.runningOf(acme, "batch")).toBe(4);
  expect(desk.waitingAt(acme)).toBe(1);
});

test("jobs that are to have the slots of batch jobs are asked for one at a time", () => {
  const desk = new Desk({ slots: 4 });
  desk.queue(acme, 4, { priority: "batch" });
  desk.settle();
  const lanes = [{ tenant: acme, priority: "interactive" as const, jobs: 9 }];
  const { pulls } = desk.sharing.next({ kind: "listed", lanes }, 0, ROOM);
  expect(pulls).toEqual([{ kind: "now", tenant: acme, priority: "interactive", batch: 1 }]);
});

test("a job that wants a slot for long is not forgotten", () => {
  const desk = new Desk({ slots: 1 });
  desk.queue(acme, 1, { isHeard: false });
  desk.list();
  desk.settle();
  desk.park(0);
  desk.queue(globex);
  desk.settle();
  desk.cut(acme);
  desk.wake(0);
  desk.nowMs = 400_000;
  desk.tell({ kind: "renewed" });
  desk.end(0);
  expect(desk.running).toEqual([acme]);
});

test("once pulling has stopped, jobs here still get the slots of pulls that are under way, and what these bring is given back", () => {
  const desk = new Desk({ slots: 2 });
  desk.queue(acme);
  desk.settle();
  desk.park(0);
  desk.queue(globex, 4, { isHeard: false });
  desk.list();
  desk.tell({ kind: "stopped" });
  desk.wake(0);
  expect(desk.running).toEqual([acme]);
  desk.settle();
  expect([desk.running, desk.queuedOf(globex)]).toEqual([[acme], 4]);
});

test("a tenant loses the slot of one batch job at a time: the next when it is told that this one has ended", () => {
  const desk = new Desk({ slots: 2, canYield: false });
  desk.queue(acme, 2, { priority: "batch" });
  desk.settle();
  desk.tell({ kind: "yieldable", tenant: acme, jobs: 2 });
  desk.queue(acme, 2);
  desk.settle();
  expect([desk.runningOf(acme, "interactive"), desk.runningOf(acme, "batch")]).toEqual([1, 1]);
  desk.tell({ kind: "yieldable", tenant: acme, jobs: 1 });
  desk.settle();
  expect([desk.runningOf(acme, "interactive"), desk.runningOf(acme, "batch")]).toEqual([2, 0]);
});
