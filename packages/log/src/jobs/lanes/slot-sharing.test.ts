import { parseTenantId, type TenantId } from "@reprise/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type PullEffect, type SharingInput, SlotSharing } from "./slot-sharing.ts";
import type { TenantShare } from "./tenant-share.ts";

const UNLIMITED = Number.POSITIVE_INFINITY;
const ROOM = { now: UNLIMITED, waiting: UNLIMITED };
const [acme, globex, initech] = ["acme", "globex", "initech"].map(parseTenantId) as [
  TenantId,
  TenantId,
  TenantId,
];

interface SetUp {
  slots: number;
  reserve?: number;
  shares?: Partial<Record<TenantId, Partial<TenantShare>>>;
}

/** A worker and a broker with lanes, without the time between them: what is under way comes when it is told to. */
class Desk {
  readonly sharing: SlotSharing;
  readonly queued = new Map<TenantId, number>();
  readonly running: TenantId[] = [];
  /** What the records of the tenants say. */
  readonly #shares: Partial<Record<TenantId, Partial<TenantShare>>>;
  /** The newest share of each tenant that the worker was told. */
  readonly #told = new Map<TenantId, TenantShare>();
  /** What the headers of the queued jobs say. */
  readonly #headers = new Map<TenantId, TenantShare[]>();
  /** Answers of the broker that have not arrived, in order. */
  readonly #answers: SharingInput[] = [];
  readonly #waiting = new Map<TenantId, number>();
  #streamSeq = 0;
  #changes = 0;
  nowMs = 0;

  constructor({ slots, reserve = 0, shares = {} }: SetUp) {
    this.#shares = shares;
    this.sharing = new SlotSharing({ slots, reserve });
  }

  shareOf(tenant: TenantId): TenantShare {
    return { weight: 1, maxRunning: UNLIMITED, ...this.#shares[tenant] };
  }

  toldShareOf(tenant: TenantId): TenantShare {
    return this.#told.get(tenant) ?? { weight: 1, maxRunning: UNLIMITED };
  }

  change(tenant: TenantId, share: TenantShare): void {
    this.#shares[tenant] = { ...share, storedAtUs: ++this.#changes };
  }

  /** The broker ends the lane's waiting pull, for reasons of its own. */
  cut(tenant: TenantId): void {
    if (!this.#waiting.get(tenant)) return;
    this.#waiting.set(tenant, 0);
    this.tell({ kind: "ended", tenant, reason: "cut" });
  }

  queue(tenant: TenantId, jobs = 1, isHeard = true): void {
    for (let i = 0; i < jobs; i++) {
      const share = this.shareOf(tenant);
      this.queued.set(tenant, (this.queued.get(tenant) ?? 0) + 1);
      this.#headersOf(tenant).push(share);
      this.#handOut(tenant, this.#waiting.get(tenant) ?? 0);
      if (isHeard) this.#answers.push({ kind: "heard", tenant, streamSeq: ++this.#streamSeq, share });
    }
  }

  end(at: number): void {
    const [tenant] = this.running.splice(at % this.running.length, 1);
    if (tenant) this.tell({ kind: "freed", tenant });
  }

  list(): void {
    const jobs = new Map(this.queued);
    for (const tenant of this.running) jobs.set(tenant, (jobs.get(tenant) ?? 0) + 1);
    this.tell({ kind: "listed", jobs });
  }

  #headersOf(tenant: TenantId): TenantShare[] {
    const headers = this.#headers.get(tenant) ?? [];
    this.#headers.set(tenant, headers);
    return headers;
  }

  #learn(tenant: TenantId, share: TenantShare): void {
    if ((share.storedAtUs ?? 0) >= (this.toldShareOf(tenant).storedAtUs ?? 0)) this.#told.set(tenant, share);
  }

  tell(input: SharingInput): void {
    if ("share" in input && input.share) this.#learn(input.tenant, input.share);
    const { job, pulls } = this.sharing.next(input, this.nowMs, ROOM);
    if (input.kind === "job" && job === "run") this.running.push(input.tenant);
    if (input.kind === "job" && job === "give_back") {
      this.queued.set(input.tenant, (this.queued.get(input.tenant) ?? 0) + 1);
      if (input.share) this.#headersOf(input.tenant).unshift(input.share);
      this.#handOut(input.tenant, this.#waiting.get(input.tenant) ?? 0);
    }
    for (const pull of pulls) this.#pull(pull);
  }

  /** Lets the next answer arrive. Returns whether there was one. */
  arrive(): boolean {
    const answer = this.#answers.shift();
    if (answer) this.tell(answer);
    return answer !== undefined;
  }

  settle(): void {
    while (this.arrive());
  }

  #pull({ kind, tenant, batch }: PullEffect): void {
    const left = this.#handOut(tenant, batch);
    if (kind === "now" && left > 0) this.#answers.push({ kind: "ended", tenant, reason: "empty" });
    this.#waiting.set(tenant, kind === "waiting" ? left : 0);
  }

  #handOut(tenant: TenantId, asked: number): number {
    const jobs = Math.min(asked, this.queued.get(tenant) ?? 0);
    for (let i = 0; i < jobs; i++) {
      const pending = this.queued.get(tenant)! - 1;
      this.queued.set(tenant, pending);
      const share = this.#headersOf(tenant).shift();
      this.#answers.push({ kind: "job", tenant, streamSeq: 0, pending, share });
    }
    this.#waiting.set(tenant, asked - jobs);
    return asked - jobs;
  }
}

function countOf(running: readonly TenantId[], tenant: TenantId): number {
  return running.filter((one) => one === tenant).length;
}

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
  expect([countOf(desk.running, acme), countOf(desk.running, globex)]).toEqual([5, 5]);
});

test("a tenant with a greater weight gets so many times more slots", () => {
  const desk = new Desk({ slots: 12, shares: { [globex]: { weight: 3 } } });
  desk.queue(acme, 100);
  desk.settle();
  desk.queue(globex, 100);
  for (let i = 0; i < 30; i++) {
    desk.end(0);
    desk.settle();
  }
  expect([countOf(desk.running, acme), countOf(desk.running, globex)]).toEqual([3, 9]);
});

test("a tenant at its cap leaves its slots to others, here and at other workers", () => {
  const desk = new Desk({ slots: 10, shares: { [acme]: { maxRunning: 4 } } });
  desk.tell({ kind: "others", slots: 10, running: new Map([[acme, 1]]) });
  desk.queue(acme, 100);
  desk.queue(globex, 3);
  desk.settle();
  expect([countOf(desk.running, acme), countOf(desk.running, globex)]).toEqual([3, 3]);
  desk.tell({ kind: "others", slots: 10, running: new Map() });
  desk.settle();
  expect(countOf(desk.running, acme)).toBe(4);
});

test("a tenant's cap holds for jobs that are found by a listing, which does not tell it", () => {
  const desk = new Desk({ slots: 10, shares: { [acme]: { maxRunning: 2 } } });
  desk.queue(acme, 100, false);
  desk.list();
  desk.settle();
  expect(desk.running).toEqual([acme, acme]);
});

test("slots at other workers count as much as those here", () => {
  const desk = new Desk({ slots: 2 });
  desk.tell({ kind: "others", slots: 2, running: new Map([[acme, 2]]) });
  desk.queue(acme, 10, false);
  desk.queue(globex, 10, false);
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
  expect(countOf(desk.running, acme)).toBe(6);
  desk.queue(globex, 2);
  desk.settle();
  expect(countOf(desk.running, globex)).toBe(2);
  // Once the other tenant has been away for long, there is nothing to reserve.
  desk.end(desk.running.indexOf(globex));
  desk.end(desk.running.indexOf(globex));
  desk.settle();
  desk.nowMs = 300_001;
  desk.tell({ kind: "ended", tenant: globex, reason: "empty" });
  desk.tell({ kind: "renewed" });
  desk.settle();
  expect(countOf(desk.running, acme)).toBe(8);
});

test("a pull waits for the next job of a tenant that had one lately, and for no other", () => {
  const sharing = new SlotSharing({ slots: 4, reserve: 0 });
  const next = (input: SharingInput, nowMs = 0) => sharing.next(input, nowMs, ROOM).pulls;
  expect(next({ kind: "renewed" })).toEqual([]);
  expect(next({ kind: "heard", tenant: acme, streamSeq: 1 })).toEqual([
    { kind: "now", tenant: acme, batch: 1 },
  ]);
  expect(next({ kind: "ended", tenant: acme, reason: "empty" })).toEqual([
    { kind: "waiting", tenant: acme, batch: 4 },
  ]);
  // The broker has handed out what is heard of now.
  expect(next({ kind: "heard", tenant: acme, streamSeq: 2 })).toEqual([]);
  expect(next({ kind: "ended", tenant: acme, reason: "empty" }, 300_001)).toEqual([]);
});

test("a lane whose consumer is away is left alone until the next renewal, and takes no slot meanwhile", () => {
  const sharing = new SlotSharing({ slots: 1, reserve: 0 });
  const next = (input: SharingInput) => sharing.next(input, 0, ROOM).pulls;
  next({ kind: "heard", tenant: acme, streamSeq: 1 });
  expect(next({ kind: "ended", tenant: acme, reason: "unavailable" })).toEqual([]);
  expect(next({ kind: "heard", tenant: globex, streamSeq: 2 })).toMatchObject([{ tenant: globex }]);
  next({ kind: "ended", tenant: globex, reason: "empty" });
  expect(next({ kind: "renewed" })).toMatchObject([{ kind: "now", tenant: acme }]);
});

test("a job that comes when all slots are taken is given back, and pulled again once there is one", () => {
  const sharing = new SlotSharing({ slots: 1, reserve: 0 });
  const next = (input: SharingInput) => sharing.next(input, 0, ROOM);
  const job = (tenant: TenantId, streamSeq: number) =>
    next({ kind: "job", tenant, streamSeq, pending: 0 }).job;
  next({ kind: "heard", tenant: acme, streamSeq: 1 });
  next({ kind: "ended", tenant: acme, reason: "empty" });
  next({ kind: "heard", tenant: globex, streamSeq: 2 });
  expect([job(globex, 2), job(acme, 3)]).toEqual(["run", "give_back"]);
  expect(next({ kind: "freed", tenant: globex }).pulls).toMatchObject([{ kind: "now", tenant: acme }]);
});

test.each(["stored", "given back"])(
  "a lane that had no job right after it was heard that one was %s is asked again, before the next listing",
  (kind) => {
    const sharing = new SlotSharing({ slots: 1, reserve: 0 });
    const next = (input: SharingInput, nowMs: number) => sharing.next(input, nowMs, ROOM).pulls;
    const streamSeq = kind === "stored" ? 1 : undefined;
    next({ kind: "heard", tenant: acme, streamSeq }, 0);
    next({ kind: "heard", tenant: globex, streamSeq: 2 }, 1);
    // The lane's consumer did not know of the job yet. The slot goes to another tenant, which has more jobs.
    expect(next({ kind: "ended", tenant: acme, reason: "empty" }, 2)).toMatchObject([{ tenant: globex }]);
    next({ kind: "job", tenant: globex, streamSeq: 2, pending: 5 }, 3);
    next({ kind: "renewed" }, 1_000);
    expect(next({ kind: "freed", tenant: globex }, 1_001)).toEqual([{ kind: "now", tenant: acme, batch: 1 }]);
    // After that its answer counts.
    next({ kind: "ended", tenant: acme, reason: "empty" }, 3_000);
    next({ kind: "job", tenant: globex, streamSeq: 3, pending: 4 }, 3_001);
    next({ kind: "renewed" }, 4_000);
    expect(next({ kind: "freed", tenant: globex }, 4_001)).toMatchObject([{ kind: "now", tenant: globex }]);
  },
);

test("a job at the place of an earlier one, which the broker has lost, is not taken for that one", () => {
  const sharing = new SlotSharing({ slots: 1, reserve: 0 });
  const next = (input: SharingInput) => sharing.next(input, 0, ROOM).pulls;
  next({ kind: "heard", tenant: acme, streamSeq: 9 });
  next({ kind: "job", tenant: acme, streamSeq: 9, pending: 0 });
  next({ kind: "reconnected" });
  next({ kind: "heard", tenant: globex, streamSeq: 2 });
  next({ kind: "heard", tenant: acme, streamSeq: 3 });
  expect(next({ kind: "freed", tenant: acme })).toMatchObject([{ kind: "now", tenant: globex }]);
  expect(next({ kind: "ended", tenant: globex, reason: "empty" })).toMatchObject([
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

const TENANTS = [acme, globex, initech];
const anyStep = fc.oneof(
  fc.record({
    kind: fc.constant("queue" as const),
    tenant: fc.constantFrom(...TENANTS),
    jobs: fc.integer({ min: 1, max: 12 }),
  }),
  fc.record({ kind: fc.constant("end" as const), at: fc.nat(20) }),
  fc.record({ kind: fc.constant("arrive" as const), times: fc.integer({ min: 1, max: 5 }) }),
);
const anyShare: fc.Arbitrary<TenantShare> = fc.record({
  weight: fc.integer({ min: 1, max: 4 }),
  maxRunning: fc.constantFrom(1, 3, UNLIMITED),
});
const anyChange = fc.oneof(
  fc.record({ kind: fc.constant("change" as const), tenant: fc.constantFrom(...TENANTS), share: anyShare }),
  fc.record({ kind: fc.constant("cut" as const), tenant: fc.constantFrom(...TENANTS) }),
  fc.constant({ kind: "reconnect" as const }),
);
type AnyStep = typeof anyStep extends fc.Arbitrary<infer Step> ? Step : never;
type AnyChange = typeof anyChange extends fc.Arbitrary<infer Step> ? Step : never;
const anySetUp = fc.record({
  slots: fc.integer({ min: 1, max: 12 }),
  shares: fc.record({ acme: anyShare, globex: anyShare, initech: anyShare }),
});

test("slots and the newest caps are never exceeded, and no slot is free while a tenant below its cap has a job, though pulls are cut and shares change", () => {
  fc.assert(
    fc.property(anySetUp, fc.array(fc.oneof(anyStep, anyChange), { maxLength: 60 }), (setUp, steps) => {
      const desk = new Desk({ ...setUp, shares: { ...setUp.shares } });
      const take = (step: AnyStep | AnyChange) => {
        if (step.kind === "queue") desk.queue(step.tenant, step.jobs);
        else if (step.kind === "end") desk.end(step.at);
        else if (step.kind === "change") desk.change(step.tenant, step.share);
        else if (step.kind === "cut") desk.cut(step.tenant);
        else if (step.kind === "reconnect") desk.tell({ kind: "reconnected" });
        else desk.arrive();
      };
      for (const step of steps)
        for (let times = step.kind === "arrive" ? step.times : 1; times > 0; times--) {
          const before = [...desk.running];
          take(step);
          expect(desk.running.length).toBeLessThanOrEqual(setUp.slots);
          for (const tenant of TENANTS)
            expect(countOf(desk.running, tenant)).toBeLessThanOrEqual(
              Math.max(countOf(before, tenant), desk.toldShareOf(tenant).maxRunning),
            );
        }
      desk.settle();
      const mayRun = TENANTS.filter(
        (tenant) =>
          (desk.queued.get(tenant) ?? 0) > 0 &&
          countOf(desk.running, tenant) < desk.toldShareOf(tenant).maxRunning,
      );
      expect(desk.running.length === setUp.slots || mayRun.length === 0).toBe(true);
    }),
  );
});

test("no tenant with jobs waits below its share while a slot is given to one above its share", () => {
  fc.assert(
    fc.property(anySetUp, fc.array(anyStep, { maxLength: 60 }), (setUp, steps) => {
      const desk = new Desk(setUp);
      const weights = TENANTS.reduce((sum, tenant) => sum + desk.shareOf(tenant).weight, 0);
      const shareOf = (tenant: TenantId) => (setUp.slots * desk.shareOf(tenant).weight) / weights;
      for (const step of steps) {
        if (step.kind === "queue") desk.queue(step.tenant, step.jobs);
        desk.settle();
        if (step.kind !== "end" || desk.running.length < setUp.slots) continue;
        const waiting = TENANTS.filter((tenant) => (desk.queued.get(tenant) ?? 0) > 0);
        const before = desk.running.length;
        desk.end(step.at);
        const left = [...desk.running];
        desk.settle();
        const given = desk.running.slice(before - 1);
        const isPassedOver = (tenant: TenantId) =>
          !given.includes(tenant) &&
          countOf(left, tenant) + 1 <= Math.min(shareOf(tenant), desk.shareOf(tenant).maxRunning);
        const isAbove = (tenant: TenantId) => countOf(left, tenant) >= shareOf(tenant);
        expect([given.filter(isAbove), waiting.filter(isPassedOver)].some((list) => list.length === 0)).toBe(
          true,
        );
      }
    }),
  );
});
