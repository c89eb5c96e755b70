import { parseTenantId, type TenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { Desk, ROOM } from "./desk.fixture.ts";
import { type SharingInput, SlotSharing } from "./slot-sharing.ts";

const priority = "interactive";
const [acme, globex] = ["acme", "globex"].map(parseTenantId) as [TenantId, TenantId];

test("a tenant that is alone gets every slot", () => {
  const desk = new Desk({ slots: 20, reserve: 3 });
  desk.queue(acme, 100);
  desk.settle();
  expect(desk.running).toHaveLength(20);
});

test("slots that become free go to the tenant with the fewest, until both have their part", () => {
  const desk = new Desk({ slots: 10 });
  desk.queue(acme, 100);
  desk.settle();
  desk.queue(globex, 100);
  desk.settle();
  for (let i = 0; i < 5; i++) {
    desk.end(0);
    desk.settle();
  }
  expect([desk.runningOf(acme), desk.runningOf(globex)]).toEqual([5, 5]);
});

test("a tenant with a greater weight gets slots in proportion", () => {
  const desk = new Desk({ slots: 12, shares: { [globex]: { weight: 3 } } });
  desk.queue(acme, 100);
  desk.settle();
  desk.queue(globex, 100);
  for (let i = 0; i < 30; i++) {
    desk.end(0);
    desk.settle();
  }
  expect([desk.runningOf(acme), desk.runningOf(globex)]).toEqual([3, 9]);
});

test("a tenant at its cap leaves its slots to others, here and at other workers", () => {
  const desk = new Desk({ slots: 10, shares: { [acme]: { maxRunning: 4 } } });
  desk.tell({ kind: "others", slots: 10, running: new Map([[acme, 1]]) });
  desk.queue(acme, 100);
  desk.queue(globex, 3);
  desk.settle();
  expect([desk.runningOf(acme), desk.runningOf(globex)]).toEqual([3, 3]);
  desk.tell({ kind: "others", slots: 10, running: new Map() });
  desk.settle();
  expect(desk.runningOf(acme)).toBe(4);
});

test("a tenant's cap holds for jobs that are found by a listing, which does not tell it", () => {
  const desk = new Desk({ slots: 10, shares: { [acme]: { maxRunning: 2 } } });
  desk.queue(acme, 100, { isHeard: false });
  desk.list();
  desk.settle();
  expect(desk.running).toEqual([acme, acme]);
});

test("slots at other workers count as much as those here", () => {
  const desk = new Desk({ slots: 2 });
  desk.tell({ kind: "others", slots: 2, running: new Map([[acme, 2]]) });
  desk.queue(acme, 10, { isHeard: false });
  desk.queue(globex, 10, { isHeard: false });
  desk.list();
  desk.settle();
  expect(desk.running).toEqual([globex, globex]);
});

test("the reserve is for tenants below their share, and for them there is a slot at once", () => {
  const desk = new Desk({ slots: 8, reserve: 2 });
  desk.queue(globex);
  desk.settle();
  desk.end(0);
  desk.queue(acme, 100);
  desk.settle();
  expect(desk.runningOf(acme)).toBe(6);
  desk.queue(globex, 2);
  desk.settle();
  expect(desk.runningOf(globex)).toBe(2);
  // Once the other tenant has been away for long, there is nothing to reserve.
  desk.end(desk.running.indexOf(globex));
  desk.end(desk.running.indexOf(globex));
  desk.settle();
  desk.nowMs = 300_001;
  desk.tell({ kind: "ended", tenant: globex, priority, reason: "empty" });
  desk.tell({ kind: "renewed" });
  desk.settle();
  expect(desk.runningOf(acme)).toBe(8);
});

test("a pull waits for the next job of a tenant that had one lately, and for no other", () => {
  const sharing = new SlotSharing({ slots: 4, reserve: 0 });
  const next = (input: SharingInput, nowMs = 0) => sharing.next(input, nowMs, ROOM).pulls;
  expect(next({ kind: "renewed" })).toEqual([]);
  expect(next({ kind: "heard", tenant: acme, priority, streamSeq: 1 })).toEqual([
    { kind: "now", tenant: acme, priority, batch: 1 },
  ]);
  expect(next({ kind: "ended", tenant: acme, priority, reason: "empty" })).toEqual([
    { kind: "waiting", tenant: acme, priority, batch: 4 },
  ]);
  // The broker has handed out what is heard of now.
  expect(next({ kind: "heard", tenant: acme, priority, streamSeq: 2 })).toEqual([]);
  expect(next({ kind: "ended", tenant: acme, priority, reason: "empty" }, 300_001)).toEqual([]);
});

test("a lane whose consumer is away is left alone until the next renewal, and takes no slot meanwhile", () => {
  const sharing = new SlotSharing({ slots: 1, reserve: 0 });
  const next = (input: SharingInput) => sharing.next(input, 0, ROOM).pulls;
  next({ kind: "heard", tenant: acme, priority, streamSeq: 1 });
  expect(next({ kind: "ended", tenant: acme, priority, reason: "unavailable" })).toEqual([]);
  expect(next({ kind: "heard", tenant: globex, priority, streamSeq: 2 })).toMatchObject([{ tenant: globex }]);
  next({ kind: "ended", tenant: globex, priority, reason: "empty" });
  expect(next({ kind: "renewed" })).toMatchObject([{ kind: "now", tenant: acme }]);
});

test("a job that comes when all slots are taken is given back, and pulled again once there is one", () => {
  const sharing = new SlotSharing({ slots: 1, reserve: 0 });
  const next = (input: SharingInput) => sharing.next(input, 0, ROOM);
  const job = (tenant: TenantId, streamSeq: number) =>
    next({ kind: "job", tenant, priority, streamSeq, pending: 0 }).job;
  next({ kind: "heard", tenant: acme, priority, streamSeq: 1 });
  next({ kind: "ended", tenant: acme, priority, reason: "empty" });
  next({ kind: "heard", tenant: globex, priority, streamSeq: 2 });
  expect([job(globex, 2), job(acme, 3)]).toEqual(["run", "give_back"]);
  expect(next({ kind: "freed", tenant: globex, priority }).pulls).toMatchObject([
    { kind: "now", tenant: acme },
  ]);
});

test.each(["stored", "given back"])(
  "a lane that had no job right after it was heard that one was %s is asked again, before the next listing",
  (kind) => {
    const sharing = new SlotSharing({ slots: 1, reserve: 0 });
    const next = (input: SharingInput, nowMs: number) => sharing.next(input, nowMs, ROOM).pulls;
    const streamSeq = kind === "stored" ? 1 : undefined;
    next({ kind: "heard", tenant: acme, priority, streamSeq }, 0);
    next({ kind: "heard", tenant: globex, priority, streamSeq: 2 }, 1);
    // The lane's consumer did not know of the job yet. The slot goes to another tenant, which has more jobs.
    expect(next({ kind: "ended", tenant: acme, priority, reason: "empty" }, 2)).toMatchObject([
      { tenant: globex },
    ]);
    next({ kind: "job", tenant: globex, priority, streamSeq: 2, pending: 5 }, 3);
    next({ kind: "renewed" }, 1_000);
    expect(next({ kind: "freed", tenant: globex, priority }, 1_001)).toEqual([
      { kind: "now", tenant: acme, priority, batch: 1 },
    ]);
    // After that its answer counts.
    next({ kind: "ended", tenant: acme, priority, reason: "empty" }, 3_000);
    next({ kind: "job", tenant: globex, priority, streamSeq: 3, pending: 4 }, 3_001);
    next({ kind: "renewed" }, 4_000);
    expect(next({ kind: "freed", tenant: globex, priority }, 4_001)).toMatchObject([
      { kind: "now", tenant: globex },
    ]);
  },
);

test("a job at the place of an earlier one, which the broker has lost, is not taken for that one", () => {
  const sharing = new SlotSharing({ slots: 1, reserve: 0 });
  const next = (input: SharingInput) => sharing.next(input, 0, ROOM).pulls;
  next({ kind: "heard", tenant: acme, priority, streamSeq: 9 });
  next({ kind: "job", tenant: acme, priority, streamSeq: 9, pending: 0 });
  next({ kind: "reconnected" });
  next({ kind: "heard", tenant: globex, priority, streamSeq: 2 });
  next({ kind: "heard", tenant: acme, priority, streamSeq: 3 });
  expect(next({ kind: "freed", tenant: acme, priority })).toMatchObject([{ kind: "now", tenant: globex }]);
  expect(next({ kind: "ended", tenant: globex, priority, reason: "empty" })).toMatchObject([
    { kind: "now", tenant: acme },
  ]);
});

test("a cap that has been lowered holds for jobs that were queued before, after a pull was cut and after a reconnect too", () => {
  const desk = new Desk({ slots: 6 });
  desk.queue(acme);
  desk.settle();
  desk.end(0);
  const jobs = 6;
  for (let i = 0; i < jobs; i++) desk.queue(globex);
  desk.settle();
  desk.queue(acme, jobs);
  desk.change(acme, { weight: 1, maxRunning: 2 });
  desk.queue(acme);
  desk.settle();
  desk.tell({ kind: "reconnected" });
  for (let i = 0; i < jobs; i++) {
    desk.end(desk.running.indexOf(globex));
    desk.settle();
    desk.cut(acme);
  }
  expect(desk.running).toEqual([acme, acme]);
});
