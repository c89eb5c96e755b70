import { startRedis } from "@reprise/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeCounters } from "./counters.fixture.ts";
import { MemoryCounters } from "./memory-counters.ts";
import { RedisCounters } from "./redis-counters.ts";

/** In which no unit comes back within a test. */
const DAY_MS = 86_400_000;

describe("counters of one process", () => {
  describeCounters(() => {
    let nowMs = 0;
    return { counters: new MemoryCounters(() => nowMs), pass: (ms) => void (nowMs += ms) };
  });

  it("renews the leases of a key without walking over all of them for each", async () => {
    const counters = new MemoryCounters(() => 0);
    const leases = Array.from({ length: 500 }, (_, i) => {
      return { kind: "lease", name: "readers", key: "k", limit: 500, member: `${i}`, ttlMs: 1_000 } as const;
    });
    await counters.take(leases);
    const iterators: { next: () => IteratorResult<unknown> } = Object.getPrototypeOf(new Map().entries());
    const { next } = iterators;
    let steps = 0;
    iterators.next = function () {
      steps++;
      return next.call(this);
    };
    try {
      await counters.take(leases);
    } finally {
      iterators.next = next;
    }
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThan(10 * leases.length);
  });

  it("forgets keys whose units have all come back", async () => {
    let nowMs = 0;
    const counters = new MemoryCounters(() => nowMs);
    for (let i = 0; i < 10_000; i++) {
      nowMs += 10;
      await counters.take([
        { kind: "rate", name: "requests", key: `key-${i}`, limit: 1, windowMs: 1_000, cost: 1 },
        { kind: "lease", name: "readers", key: `lease-${i}`, limit: 1, member: "a", ttlMs: 1_000 },
      ]);
    }
    expect(counters.size).toBeLessThan(2_000);
  });
});

describe("counters in Redis", () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let redis: Redis;
  let calls = 0;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  describeCounters(() => {
    let nowMs = 1_800_000_000_000;
    const counters = new RedisCounters(redis, { prefix: `test-${++calls}:`, now: () => nowMs });
    return { counters, pass: (ms) => void (nowMs += ms) };
  });

  it("two nodes share one quota", async () => {
    const other = new Redis(server.url);
    const nodes = [
      new RedisCounters(redis, { prefix: "shared:" }),
      new RedisCounters(other, { prefix: "shared:" }),
    ];
    const check = {
      kind: "rate",
      name: "requests",
      key: "{acme}:requests",
      limit: 30,
      windowMs: DAY_MS,
      cost: 1,
    } as const;
    const decisions = await Promise.all(
      nodes.flatMap((node) => Array.from({ length: 50 }, () => node.take([check]))),
    );
    other.disconnect();
    expect(decisions.filter(({ refused }) => !refused)).toHaveLength(30);
  });

  it("continues after Redis has forgotten the script", async () => {
    const counters = new RedisCounters(redis, { prefix: "flushed:" });
    const check = { kind: "rate", name: "requests", key: "k", limit: 2, windowMs: DAY_MS, cost: 1 } as const;
    await counters.take([check]);
    await redis.script("FLUSH");
    expect((await counters.take([check])).standings[0]?.remaining).toBe(0);
  });

  it("lets Redis forget a key when its units have come back", async () => {
    const counters = new RedisCounters(redis, { prefix: "gone:" });
    await counters.take([
      { kind: "rate", name: "requests", key: "k", limit: 4, windowMs: 60_000, cost: 1 },
      { kind: "lease", name: "readers", key: "l", limit: 1, member: "a", ttlMs: 60_000 },
    ]);
    expect(await redis.pttl("gone:k")).toBeLessThanOrEqual(15_000);
    expect(await redis.pttl("gone:k")).toBeGreaterThan(0);
    expect(await redis.pttl("gone:l")).toBeGreaterThan(0);
  });
});
