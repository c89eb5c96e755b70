import { expect, it } from "vitest";
import type { Counters, LeaseCheck, RateCheck } from "./counters.ts";

/** A counter and a way to let time pass for it. */
export interface CountersTarget {
  readonly counters: Counters;
  /** Lets so much time pass for the counters. */
  readonly pass: (ms: number) => void;
}

let keys = 0;
const rate = (limit: number, cost = 1, windowMs = 60_000, key = `rate-${++keys}`): RateCheck => ({
  kind: "rate",
  name: "requests",
  key,
  limit,
  windowMs,
  cost,
});
const lease = (limit: number, member: string, key: string, ttlMs = 60_000): LeaseCheck => ({
  kind: "lease",
  name: "readers",
  key,
  limit,
  member,
  ttlMs,
});

/** Contract of every implementation of `Counters`. */
export function describeCounters(open: () => CountersTarget): void {
  it("grants the whole quota at once, and then nothing more", async () => {
    const { counters } = open();
    const check = rate(3);
    for (let i = 2; i >= 0; i--) {
      const { refused, standings } = await counters.take([check]);
      expect(refused).toBeUndefined();
      expect(standings[0]?.remaining).toBe(i);
    }
    const { refused, standings } = await counters.take([check]);
    expect(refused?.check).toEqual(check);
    expect(refused?.retryAfterMs).toBeGreaterThan(0);
    expect(refused?.retryAfterMs).toBeLessThanOrEqual(20_000);
    expect(standings[0]).toMatchObject({ remaining: 0 });
  });

  it("grants the whole quota at once at any time", async () => {
    const { counters, pass } = open();
    for (let i = 0; i < 200; i++) {
      pass(1_234.567_891);
      const check = rate(1 + (i % 7));
      for (let taken = 0; taken < check.limit; taken++)
        expect((await counters.take([check])).refused).toBeUndefined();
      expect((await counters.take([check])).refused).toBeDefined();
    }
  });

  it("gives units back steadily", async () => {
    const { counters, pass } = open();
    const check = rate(2, 1, 60_000);
    await counters.take([check]);
    await counters.take([check]);
    expect((await counters.take([check])).refused).toBeDefined();
    pass(30_001);
    expect((await counters.take([check])).refused).toBeUndefined();
  });

  it("never grants a cost above the limit, and names no time for it", async () => {
    const { counters } = open();
    const { refused } = await counters.take([rate(5, 6)]);
    expect(refused).toBeDefined();
    expect(refused?.retryAfterMs).toBeUndefined();
  });

  it("takes nothing of any limit when one check is refused", async () => {
    const { counters } = open();
    const requests = rate(10);
    const tokens = rate(100, 101);
    const held = lease(5, "a", "all-or-nothing");
    expect((await counters.take([requests, held, tokens])).refused?.check).toEqual(tokens);
    const { standings } = await counters.take([requests, { ...held, member: "b" }]);
    expect(standings.map(({ remaining }) => remaining)).toEqual([9, 4]);
  });

  it("settles what was reserved: unused units are there at once, more than reserved are owed", async () => {
    const { counters } = open();
    const tokens = rate(100, 100);
    await counters.take([tokens]);
    await counters.settle(tokens, -60);
    expect((await counters.take([{ ...tokens, cost: 60 }])).refused).toBeUndefined();
    await counters.settle(tokens, 50);
    const { refused } = await counters.take([{ ...tokens, cost: 1 }]);
    expect(refused?.retryAfterMs).toBeGreaterThan(29_000);
  });

  it("never gives back more than was taken", async () => {
    const { counters } = open();
    const tokens = rate(100, 10);
    await counters.take([tokens]);
    await counters.settle(tokens, -1_000);
    const { standings } = await counters.take([tokens]);
    expect(standings[0]?.remaining).toBe(90);
  });

  it("owes all that was used beyond the quota, sixty windows at most", async () => {
    const { counters, pass } = open();
    const tokens = rate(100);
    await counters.settle(tokens, 1_000);
    expect((await counters.take([tokens])).refused?.retryAfterMs).toBeGreaterThan(9 * 60_000);
    pass(8 * 60_000);
    expect((await counters.take([tokens])).refused).toBeDefined();
    pass(60_601);
    expect((await counters.take([tokens])).refused).toBeUndefined();
    for (let i = 0; i < 10; i++) await counters.settle(tokens, 1_000);
    pass(58 * 60_000);
    expect((await counters.take([tokens])).refused).toBeDefined();
    pass(60_601);
    expect((await counters.take([tokens])).refused).toBeUndefined();
  });

  it("is open again within two windows of a clock that has gone back", async () => {
    const { counters, pass } = open();
    const check = rate(1);
    await counters.take([check]);
    pass(-3_600_000);
    expect((await counters.take([check])).refused?.retryAfterMs).toBeLessThanOrEqual(120_000);
    pass(120_001);
    expect((await counters.take([check])).refused).toBeUndefined();
  });

  it("holds a limited number of leases at a time, and renews one that is held", async () => {
    const { counters } = open();
    const a = lease(2, "a", "leases");
    await counters.take([a]);
    await counters.take([{ ...a, member: "b" }]);
    expect((await counters.take([a])).refused).toBeUndefined();
    const c = { ...a, member: "c" };
    expect((await counters.take([c])).refused?.retryAfterMs).toBeGreaterThan(0);
    await counters.release([a, { key: a.key, member: "never held" }]);
    expect((await counters.take([c])).refused).toBeUndefined();
  });

  it("ends a lease that is not renewed", async () => {
    const { counters, pass } = open();
    const a = lease(1, "a", "expiring", 30_000);
    await counters.take([a]);
    expect((await counters.take([{ ...a, member: "b" }])).refused).toBeDefined();
    pass(30_001);
    expect((await counters.take([{ ...a, member: "b" }])).refused).toBeUndefined();
  });

  it("grants exactly the quota to calls that come at once", async () => {
    const { counters } = open();
    const check = rate(50);
    const decisions = await Promise.all(Array.from({ length: 200 }, () => counters.take([check])));
    expect(decisions.filter(({ refused }) => !refused)).toHaveLength(50);
  });
}
