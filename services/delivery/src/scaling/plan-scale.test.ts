import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type DeliveryObservation,
  type ModelObservation,
  NO_SCALE_STATE,
  planScale,
  SCALE_DEFAULTS,
  type ScaleSettings,
  type ScaleState,
  type WorkerPlan,
} from "./plan-scale.ts";
import { slotsForLoad } from "./slots-for-load.ts";

const EVERY_MS = 5_000;
const NO_READERS: DeliveryObservation = { nodes: 1, readers: 0, cpu: 0 };
const IDLE: ModelObservation = {
  queued: 0,
  oldestMs: 0,
  workers: 1,
  slots: 8,
  running: 0,
  taken: 0,
  ended: 0,
  slotMs: 0,
};
const settings: ScaleSettings = {
  ...SCALE_DEFAULTS,
  workers: { ...SCALE_DEFAULTS.workers, slots: 8, max: 50 },
};

const planOf = (
  seen: ModelObservation,
  state: ScaleState,
  nowMs: number,
  delivery: DeliveryObservation = NO_READERS,
) => {
  const next = planScale(state, { models: new Map([["m", seen]]), delivery }, nowMs, settings);
  return { state: next.state, plan: next.plan.models.get("m")!, delivery: next.plan.delivery };
};

/** What the plans were over a history, one every 5 s. */
function plansOf(history: readonly ModelObservation[]) {
  let state = NO_SCALE_STATE;
  return history.map((seen, i) => {
    const next = planOf(seen, state, i * EVERY_MS);
    state = next.state;
    return next.plan;
  });
}

/** Totals as they are when so many jobs of so long come in each interval, and are run at once. */
const steady = (jobs: number, serviceMs: number, i: number, workers: number): ModelObservation => ({
  ...IDLE,
  workers,
  slots: 8 * workers,
  running: Math.min(8 * workers, Math.round((jobs * serviceMs) / EVERY_MS)),
  taken: jobs * i,
  ended: jobs * i,
  slotMs: jobs * i * serviceMs,
});

const anyStep = fc.record({
  queued: fc.nat(2_000),
  oldestMs: fc.nat(600_000),
  workers: fc.nat(60),
  busy: fc.double({ min: 0, max: 1, noNaN: true }),
  taken: fc.nat(500),
  slotMs: fc.nat(5_000_000),
});

/** Any history whose totals only grow. */
const anyHistory = fc.array(anyStep, { minLength: 1, maxLength: 40 }).map((steps) => {
  let totals = { taken: 0, ended: 0, slotMs: 0 };
  return steps.map(({ queued, oldestMs, workers, busy, taken, slotMs }): ModelObservation => {
    totals = {
      taken: totals.taken + taken,
      ended: totals.ended + taken,
      slotMs: totals.slotMs + (taken > 0 ? slotMs : 0),
    };
    const slots = workers * 8;
    return {
      queued,
      oldestMs: queued > 0 ? oldestMs : 0,
      workers,
      slots,
      running: Math.floor(slots * busy),
      ...totals,
    };
  });
});

describe("wanted workers", () => {
  test("are never fewer than the slots that have jobs need, nor outside the bounds, whatever is observed", () => {
    const { min, max } = settings.workers;
    fc.assert(
      fc.property(anyHistory, (history) => {
        plansOf(history).forEach(({ wantedWorkers }, i) => {
          const forRunning = Math.ceil(history[i]!.running / 8);
          expect(wantedWorkers).toBeGreaterThanOrEqual(Math.min(max, Math.max(min, forRunning)));
          expect(wantedWorkers).toBeLessThanOrEqual(max);
          expect(Number.isInteger(wantedWorkers)).toBe(true);
        });
      }),
    );
  });

  test.each(["queued", "oldestMs", "running", "taken"] as const)(
    "are never fewer for a last observation with more: %s",
    (field) => {
      fc.assert(
        fc.property(anyHistory, fc.integer({ min: 1, max: 1_000 }), (history, more) => {
          const last = history.at(-1)!;
          const added = { ...last, [field]: last[field] + more };
          const raised =
            field === "running" ? { ...added, running: Math.min(added.running, last.slots) } : added;
          const [less, greater] = [last, raised].map((end) =>
            plansOf([...history.slice(0, -1), end]).at(-1)!,
          );
          expect(greater!.wantedWorkers).toBeGreaterThanOrEqual(less!.wantedWorkers);
        }),
      );
    },
  );

  test("rise at once, and fall only when fewer were enough for the whole window", () => {
    const burst = { ...IDLE, running: 8, queued: 40, oldestMs: 4_000 };
    const after = { ...IDLE, taken: 40, ended: 40, slotMs: 400_000 };
    let { state, plan } = planOf(IDLE, NO_SCALE_STATE, 0);
    expect(plan.wantedWorkers).toBe(1);
    ({ state, plan } = planOf(burst, state, 5_000));
    const atBurst = plan.wantedWorkers;
    expect(atBurst).toBeGreaterThan(10);
    const { stabilisationMs } = settings.workers;
    ({ state, plan } = planOf(after, state, 10_000));
    expect([plan.wantedWorkers >= atBurst, plan.because]).toEqual([true, "stabilisation"]);
    ({ state, plan } = planOf(after, state, 5_000 + stabilisationMs - 1));
    expect([plan.wantedWorkers >= atBurst, plan.because]).toEqual([true, "stabilisation"]);
    ({ plan } = planOf(after, state, 10_000 + 2 * stabilisationMs));
    expect(plan.wantedWorkers).toBeLessThan(atBurst);
  });

  test("stay where they are under a constant load, whatever it is, once the window is over", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 200, max: 30_000 }),
        (jobs, serviceMs) => {
          let state = NO_SCALE_STATE;
          let workers = 1;
          const wanted: number[] = [];
          for (let i = 0; i < 600; i++) {
            const next = planOf(steady(jobs, serviceMs, i, workers), state, i * EVERY_MS);
            state = next.state;
            workers = next.plan.wantedWorkers;
            wanted.push(workers);
          }
          expect(new Set(wanted.slice(300)).size).toBe(1);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("hold the load by Little's law, and the slots that keep the wait within the target", () => {
    const history = Array.from({ length: 200 }, (_, i) => steady(20, 10_000, i, 8));
    const plan = plansOf(history).at(-1)!;
    expect(plan.arrivalsPerSecond).toBeCloseTo(4, 2);
    expect(plan.serviceMs).toBeCloseTo(10_000, -2);
    expect(plan.load).toBeCloseTo(40, 0);
    expect(plan.slotsForLoad).toBe(
      slotsForLoad(plan.load * 1.1, plan.serviceMs, settings.workers.target, 400),
    );
    expect(plan.slotsForLoad).toBeGreaterThan(44);
    expect(plan.slotsForLoad).toBeLessThan(64);
    expect([plan.wantedWorkers, plan.because]).toEqual([Math.ceil(plan.slotsForLoad / 8), "load"]);
  });

  test("count what will have gathered in the queue when a new worker is ready", () => {
    const overloaded = Array.from({ length: 60 }, (_, i) => ({
      ...steady(20, 10_000, i, 4),
      running: 32,
      queued: 4 * i,
    }));
    const slow = planScaleLast(overloaded, 300_000);
    const quick = planScaleLast(overloaded, 0);
    expect(slow.wantedWorkers).toBeGreaterThan(quick.wantedWorkers);
  });

  test("do not count again what gathers while workers that were asked for are starting", () => {
    const waiting = (i: number) => ({ ...steady(20, 10_000, i, 4), running: 32, queued: 40 });
    const first = planOf(waiting(0), NO_SCALE_STATE, 0);
    const second = planOf(waiting(1), first.state, EVERY_MS);
    const { coldStartMs } = settings.workers;
    const ready = planOf(waiting(1 + coldStartMs / EVERY_MS), second.state, EVERY_MS + coldStartMs);
    const ordered = planScaleLast([waiting(0), waiting(1)], 0).slotsForBacklog;
    expect(ready.plan.slotsForBacklog).toBeCloseTo(ordered, 0);
  });

  test("are one more where a job has waited for longer than any backlog should, though the load says that they are enough", () => {
    const { drainMs, coldStartMs } = settings.workers;
    const late = { ...IDLE, workers: 3, slots: 24, running: 24, queued: 1, oldestMs: drainMs + coldStartMs };
    const { state } = planOf({ ...late, queued: 0, oldestMs: 0 }, NO_SCALE_STATE, 0);
    expect(planOf(late, state, EVERY_MS).plan).toMatchObject({ wantedWorkers: 3 });
    const later = { ...late, oldestMs: late.oldestMs + 1 };
    expect(planOf(later, state, EVERY_MS).plan).toMatchObject({ wantedWorkers: 4, because: "wait" });
  });

  test("are at first as many as there are: a process that has just been started does not take away what another one asked for", () => {
    const { stabilisationMs } = settings.workers;
    const seen = { ...IDLE, workers: 12, slots: 96 };
    const first = planOf(seen, NO_SCALE_STATE, 0, { nodes: 5, readers: 0, cpu: 0 });
    expect([first.plan.wantedWorkers, first.delivery.wantedNodes]).toEqual([12, 5]);
    const last = planOf(seen, first.state, stabilisationMs);
    expect([last.plan.wantedWorkers, last.delivery.wantedNodes]).toEqual([1, 1]);
  });

  test("do not rise for jobs that wait although many slots are free: a limit of their tenant keeps them", () => {
    const capped = { ...IDLE, slots: 80, workers: 10, running: 8, queued: 1_000, oldestMs: 60_000 };
    const aWhile = 1 + settings.workers.stabilisationMs / EVERY_MS;
    expect(plansOf(Array.from({ length: aWhile }, () => capped)).at(-1)!.wantedWorkers).toBe(1);
  });

  test("are at least one for a job that waits at a model without workers, from zero on", () => {
    const fromZero = { ...settings, workers: { ...settings.workers, min: 0 } };
    const none = { ...IDLE, workers: 0, slots: 0 };
    const plan = (queued: number) =>
      planScale(
        NO_SCALE_STATE,
        { models: new Map([["m", { ...none, queued }]]), delivery: NO_READERS },
        0,
        fromZero,
      ).plan.models.get("m");
    expect(plan(0)).toMatchObject({ wantedWorkers: 0 });
    expect(plan(1)).toMatchObject({ wantedWorkers: 1, because: "backlog" });
  });

  test("are not disturbed by a clock that stands still or totals that are lost", () => {
    let { state } = planOf(steady(20, 10_000, 100, 8), NO_SCALE_STATE, 0);
    let plan;
    ({ state, plan } = planOf(IDLE, state, 0));
    ({ plan } = planOf(steady(20, 10_000, 1, 8), state, 0));
    expect(plan.wantedWorkers).toBeLessThanOrEqual(50);
    expect(Number.isFinite(plan.load)).toBe(true);
  });
});

function planScaleLast(history: readonly ModelObservation[], coldStartMs: number) {
  const slower = { ...settings, workers: { ...settings.workers, coldStartMs } };
  let state = NO_SCALE_STATE;
  let plan: WorkerPlan | undefined;
  for (const [i, seen] of history.entries()) {
    const next = planScale(
      state,
      { models: new Map([["m", seen]]), delivery: NO_READERS },
      i * EVERY_MS,
      slower,
    );
    state = next.state;
    plan = next.plan.models.get("m");
  }
  if (!plan) throw new Error("An empty history has no plan.");
  return plan;
}

describe("wanted nodes of delivery", () => {
  const nodesFor = (delivery: DeliveryObservation) => planOf(IDLE, NO_SCALE_STATE, 0, delivery).delivery;

  test("are as many as the readers need, or the CPU, whichever are more", () => {
    const { readersPerNode, cpu } = settings.delivery;
    expect(nodesFor(NO_READERS)).toEqual({ wantedNodes: 1, because: "min" });
    expect(nodesFor({ nodes: 2, readers: 3 * readersPerNode + 1, cpu: 0 })).toEqual({
      wantedNodes: 4,
      because: "readers",
    });
    expect(nodesFor({ nodes: 2, readers: 1, cpu: 3 * cpu + 0.01 })).toEqual({
      wantedNodes: 4,
      because: "cpu",
    });
    expect(nodesFor({ nodes: 2, readers: 1e9, cpu: 0 })).toEqual({
      wantedNodes: settings.delivery.max,
      because: "max",
    });
  });

  test("never fall below what the readers need, and fall after the window alone", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 50 }), (counts) => {
        let state = NO_SCALE_STATE;
        const wanted = counts.map((readers, i) => {
          const next = planOf(IDLE, state, i * EVERY_MS, { nodes: 1, readers, cpu: 0 });
          state = next.state;
          return next.delivery.wantedNodes;
        });
        const needs = counts.map((readers) =>
          Math.max(1, Math.ceil(readers / settings.delivery.readersPerNode)),
        );
        wanted.forEach((nodes, i) => expect(nodes).toBe(Math.max(...needs.slice(0, i + 1))));
      }),
    );
  });
});

describe("slots for a load", () => {
  /** The share of jobs that wait longer, by Erlang's formula as it is written in textbooks. */
  function late(slots: number, load: number, serviceMs: number, waitMs: number): number {
    if (slots <= load) return 1;
    let term = 1;
    let sum = 1;
    for (let k = 1; k < slots; k++) sum += term *= load / k;
    const last = ((term * load) / slots) * (slots / (slots - load));
    return (last / (sum + last)) * Math.exp((-(slots - load) * waitMs) / serviceMs);
  }

  test("are the fewest that meet the target, by Erlang's formula", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        fc.integer({ min: 100, max: 60_000 }),
        fc.constantFrom(0, 100, 500, 5_000),
        (load, serviceMs, waitMs) => {
          const slots = slotsForLoad(load, serviceMs, { waitMs, share: 0.95 }, 1_000);
          expect(late(slots, load, serviceMs, waitMs)).toBeLessThanOrEqual(0.05 + 1e-9);
          expect(late(slots - 1, load, serviceMs, waitMs)).toBeGreaterThan(0.05 - 1e-9);
        },
      ),
    );
  });

  test("are none without a load, and no more than the most", () => {
    const target = { waitMs: 500, share: 0.95 };
    expect(slotsForLoad(0, 1_000, target, 10)).toBe(0);
    expect(slotsForLoad(1e6, 1_000, target, 10)).toBe(10);
  });
});
