import { parseTenantId, type Priority, type TenantId } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Desk } from "./desk.fixture.ts";
import type { TenantShare } from "./tenant-share.ts";

const TENANTS = ["acme", "globex", "initech"].map(parseTenantId);
const PRIORITIES: readonly Priority[] = ["interactive", "batch"];

const tenant = fc.constantFrom(...TENANTS);
const jobs = fc.integer({ min: 1, max: 12 });
const at = fc.nat(20);
const anyShare: fc.Arbitrary<TenantShare> = fc.record({
  weight: fc.integer({ min: 1, max: 4 }),
  maxRunning: fc.constantFrom(1, 3, Number.POSITIVE_INFINITY),
});

type Step = (desk: Desk) => void;

/** Steps that happen in a queue, each with its words for the report of a failure. */
function anyStepOf(...priorities: Priority[]): fc.Arbitrary<Step> {
  const priority = fc.constantFrom(...priorities);
  return fc.oneof(
    fc.tuple(tenant, jobs, priority).map((step) => named(`queue ${step.join(" ")}`, queue(...step))),
    at.map((place) => named(`end ${place}`, (desk) => desk.end(place))),
    at.map((place) => named(`park ${place}`, (desk) => desk.park(place))),
    at.map((place) => named(`wake ${place}`, (desk) => desk.wake(place))),
  );
}

/** One answer of the broker arrives. */
const arrival = fc.constant(named("arrive", (desk) => void desk.arrive()));

const anyDisturbance: fc.Arbitrary<Step> = fc.oneof(
  fc.constant(named("reconnect", (desk) => desk.tell({ kind: "reconnected" }))),
  fc.tuple(tenant, fc.constantFrom(...PRIORITIES)).map(([id, priority]) => {
    return named(`cut ${id} ${priority}`, (desk) => desk.cut(id, priority));
  }),
  fc.tuple(tenant, anyShare).map(([id, share]) => {
    return named(`change ${id} ${JSON.stringify(share)}`, (desk) => desk.change(id, share));
  }),
);

const anySetUp = fc.record({
  slots: fc.integer({ min: 1, max: 12 }),
  shares: fc.record({ acme: anyShare, globex: anyShare, initech: anyShare }),
});

function queue(id: TenantId, count: number, priority: Priority): Step {
  return (desk) => desk.queue(id, count, { priority });
}

function named(name: string, step: Step): Step {
  return Object.assign(step, { [fc.toStringMethod]: () => name });
}

/** True if a job of the lane waits, in the queue or here. */
function waits(desk: Desk, id: TenantId, priority: Priority): boolean {
  const isWanting = desk.wanting.some((job) => job.tenant === id && job.priority === priority);
  return isWanting || desk.queuedOf(id, priority) > 0;
}

function isBelowCap(desk: Desk, id: TenantId): boolean {
  return desk.runningOf(id) < desk.toldShareOf(id).maxRunning;
}

test("slots and the newest caps are never exceeded, whatever parks, resumes and yields, and though pulls are cut and shares change", () => {
  const anyStep = fc.oneof(
    { weight: 3, arbitrary: anyStepOf(...PRIORITIES) },
    { weight: 6, arbitrary: arrival },
    anyDisturbance,
  );
  fc.assert(
    fc.property(anySetUp, fc.array(anyStep, { maxLength: 120 }), (setUp, steps) => {
      const desk = new Desk({ ...setUp, shares: { ...setUp.shares } });
      for (const step of steps) {
        const before = new Map(TENANTS.map((id) => [id, desk.runningOf(id)]));
        step(desk);
        expect(desk.jobs.length).toBeLessThanOrEqual(setUp.slots);
        for (const id of TENANTS) {
          const most = Math.max(before.get(id) ?? 0, desk.toldShareOf(id).maxRunning);
          expect(desk.runningOf(id)).toBeLessThanOrEqual(most);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test("no slot is free while a tenant below its cap has a job, and no interactive job waits for a batch job of its tenant or of a richer one", () => {
  const anyStep = fc.oneof(
    { weight: 3, arbitrary: anyStepOf(...PRIORITIES) },
    { weight: 6, arbitrary: arrival },
    anyDisturbance,
  );
  fc.assert(
    fc.property(anySetUp, fc.array(anyStep, { maxLength: 120 }), (setUp, steps) => {
      const desk = new Desk({ ...setUp, shares: { ...setUp.shares } });
      for (const step of steps) step(desk);
      desk.settle();
      const slotsFor = (id: TenantId, more = 0) => (desk.runningOf(id) + more) / desk.toldShareOf(id).weight;
      const [free, belowCap] = [setUp.slots - desk.jobs.length, TENANTS.filter((id) => isBelowCap(desk, id))];
      const waiting = belowCap.filter((id) => PRIORITIES.some((priority) => waits(desk, id, priority)));
      expect(free === 0 ? [] : waiting).toEqual([]);
      const runBatch = TENANTS.filter((id) => desk.runningOf(id, "batch") > 0);
      expect(runBatch.filter((id) => waits(desk, id, "interactive"))).toEqual([]);
      const interactive = belowCap.filter((id) => waits(desk, id, "interactive"));
      const passedOver = interactive.filter((id) =>
        runBatch.some((other) => slotsFor(other) >= slotsFor(id, 1)),
      );
      expect(passedOver).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("no tenant with jobs waits below its share while a slot is given to one above its share, in the queue or with jobs that resume", () => {
  fc.assert(
    fc.property(anySetUp, fc.array(anyStepOf("interactive"), { maxLength: 120 }), (setUp, steps) => {
      const desk = new Desk(setUp);
      const weights = TENANTS.reduce((sum, id) => sum + desk.shareOf(id).weight, 0);
      const shareOf = (id: TenantId) => (setUp.slots * desk.shareOf(id).weight) / weights;
      for (const step of steps) {
        desk.settle();
        const waiting = TENANTS.filter((id) => waits(desk, id, "interactive"));
        const counts = TENANTS.map((id) => desk.runningOf(id));
        const isFull = desk.jobs.length === setUp.slots;
        step(desk);
        desk.settle();
        const changes = TENANTS.map((id, i) => ({
          id,
          before: counts[i] ?? 0,
          gained: desk.runningOf(id) > (counts[i] ?? 0),
        }));
        const above = changes.filter(({ id, before, gained }) => isFull && gained && before >= shareOf(id));
        const passedOver = changes.filter(
          ({ id, before, gained }) =>
            waiting.includes(id) &&
            !gained &&
            before + 1 <= Math.min(shareOf(id), desk.shareOf(id).maxRunning),
        );
        expect([above, passedOver].some(({ length }) => length === 0)).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
