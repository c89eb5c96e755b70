import { PATIENCE_MS, startRedis, startTcpProxy } from "@reprise/testkit";
import type { Redis } from "ioredis";
import { describe, expect, it, vi } from "vitest";
import type { LeaseCheck, RateCheck } from "./counters.ts";
import { HeldLeases } from "./held-leases.ts";
import { MemoryCounters } from "./memory-counters.ts";
import { openRedis } from "../redis/open-redis.ts";
import { RedisCounters } from "./redis-counters.ts";
import { RedisAccess } from "../redis/redis-access.ts";
import { SharedCounters } from "./shared-counters.ts";

const REQUESTS: RateCheck = {
  kind: "rate",
  name: "requests",
  key: "acme.requests",
  limit: 100,
  // Its units come back much more slowly than any test.
  windowMs: 86_400_000,
  cost: 1,
};
const READER: LeaseCheck = {
  kind: "lease",
  name: "readers",
  key: "acme.readers",
  limit: 2,
  member: "a",
  ttlMs: 60_000,
};

interface Node extends Disposable {
  readonly counters: SharedCounters;
  readonly access: RedisAccess;
  readonly redis: Redis;
  readonly told: string[];
  /** Lets the time pass in which a node leaves Redis alone. */
  rest(): void;
}

/** `once` of `node:events` would reject with the first failure to connect. */
function ready(redis: Redis): Promise<void> {
  return new Promise((resolve) => redis.once("ready", () => resolve()));
}

async function openNode(port: number, { nodes = 2, timeoutMs = PATIENCE_MS } = {}): Promise<Node> {
  const redis = openRedis(`redis://127.0.0.1:${port}`, { onError: () => {}, timeoutMs });
  await ready(redis);
  const told: string[] = [];
  let nowMs = 0;
  const access = new RedisAccess({
    onAway: () => told.push("away"),
    onBack: () => told.push("back"),
    now: () => nowMs,
  });
  const counters = new SharedCounters({
    shared: new RedisCounters(redis),
    local: new MemoryCounters(),
    nodes: () => nodes,
    access,
  });
  return {
    counters,
    access,
    redis,
    told,
    rest: () => void (nowMs += 1_001),
    [Symbol.dispose]: () => redis.disconnect(),
  };
}

/** Counters whose shared ones answer calls unless set otherwise, long after their last failure. */
function openFake() {
  const told: string[] = [];
  const calls = { areAnswered: true };
  let nowMs = 0;
  const access = new RedisAccess({
    onAway: () => told.push("away"),
    onBack: () => told.push("back"),
    now: () => (nowMs += 60_000),
  });
  const counters = new SharedCounters({
    shared: {
      async take() {
        if (!calls.areAnswered) throw new Error("NOPERM");
        return { standings: [] };
      },
      settle: async () => {},
      release: async () => {},
    },
    local: new MemoryCounters(),
    nodes: () => 1,
    access,
  });
  return { counters, access, told, calls };
}

describe("shared counters that refuse one thing only", () => {
  it("are away until that is answered too, and told once: a node's own commands", async () => {
    const { counters, access, told } = openFake();
    access.lost("process", new Error("NOPERM"));
    await counters.take([REQUESTS]);
    access.lost("process", new Error("NOPERM"));
    await counters.take([REQUESTS]);
    expect([told, access.isAway]).toEqual([["away"], true]);
    access.found("process");
    expect([told, access.isAway]).toEqual([["away", "back"], false]);
  });

  it("still answer calls while they do not answer the node's own commands", async () => {
    let asked = 0;
    const shared = new MemoryCounters();
    const access = new RedisAccess({ onAway: () => {}, onBack: () => {}, now: () => 0 });
    const counters = new SharedCounters({
      shared: {
        take: (checks) => (asked++, shared.take(checks)),
        settle: (check, units) => shared.settle(check, units),
        release: (leases) => shared.release(leases),
      },
      local: new MemoryCounters(),
      nodes: () => 1,
      access,
    });
    access.lost("process", new Error("NOPERM"));
    await counters.take([REQUESTS]);
    expect(asked).toBe(1);
  });

  it("are away until that is answered too, and told once: the calls, which a node without any tries", async () => {
    const { counters, access, told, calls } = openFake();
    calls.areAnswered = false;
    await counters.take([REQUESTS]);
    access.found("process");
    await counters.probe();
    expect([told, access.isAway]).toEqual([["away"], true]);
    calls.areAnswered = true;
    await counters.probe();
    expect([told, access.isAway]).toEqual([["away", "back"], false]);
  });
});

describe("shared counters that are asked for nothing", () => {
  it("have not answered", async () => {
    const { counters, access, told } = openFake();
    access.lost("calls", new Error("gone"));
    await counters.take([]);
    await counters.release([]);
    expect([told, access.isAway]).toEqual([["away"], true]);
  });
});

async function grantedOf(node: Node, calls: number): Promise<number> {
  let granted = 0;
  for (let i = 0; i < calls; i++) if (!(await node.counters.take([REQUESTS])).refused) granted++;
  return granted;
}

describe("when Redis is killed", () => {
  it("each node continues with its share, and tells so once", async () => {
    await using server = await startRedis();
    using a = await openNode(server.port);
    using b = await openNode(server.port);
    await grantedOf(a, 10);
    await server.stop();
    expect(await grantedOf(a, 200)).toBe(50);
    expect(await grantedOf(b, 200)).toBe(50);
    expect([a.told, b.told]).toEqual([["away"], ["away"]]);
  });

  it("a call that fits into the limit, but not into a node's share, is granted once", async () => {
    await using server = await startRedis();
    using a = await openNode(server.port);
    await server.stop();
    const large = { ...REQUESTS, cost: 80 };
    expect((await a.counters.take([large])).refused).toBeUndefined();
    expect((await a.counters.take([large])).refused?.check.name).toBe("requests");
  });

  it("nodes count together again when it is back, empty as it is", async () => {
    const first = await startRedis();
    using a = await openNode(first.port);
    using b = await openNode(first.port);
    await first.stop();
    await a.counters.take([REQUESTS]);
    await b.counters.take([REQUESTS]);
    const again = [ready(a.redis), ready(b.redis)];
    await using second = await startRedis({ port: first.port });
    expect(second.port).toBe(first.port);
    await Promise.all(again);
    a.rest();
    b.rest();
    expect((await grantedOf(a, 70)) + (await grantedOf(b, 70))).toBe(100);
    expect(a.told).toEqual(["away", "back"]);
  });

  it("a node's leases are held again after the first renewal, and others can't take their place", async () => {
    const first = await startRedis();
    using a = await openNode(first.port);
    await using held = new HeldLeases(a.counters, { onError: (error) => expect.unreachable(String(error)) });
    const leases = ["a", "b"].map((member) => ({ ...READER, member }));
    for (const lease of leases) {
      await a.counters.take([lease]);
      held.keep(lease.member, [lease]);
    }
    await first.stop();
    await a.counters.take([REQUESTS]);
    const again = ready(a.redis);
    await using second = await startRedis({ port: first.port });
    expect(second.port).toBe(first.port);
    await again;
    a.rest();
    await held.renew();
    expect((await a.counters.take([{ ...READER, member: "c" }])).refused?.check.name).toBe("readers");
    held.release("a");
    held.release("b");
    await expect
      .poll(async () => (await a.counters.take([{ ...READER, member: "c" }])).refused)
      .toBeUndefined();
  });
});

describe("when Redis does not answer", () => {
  it("a call is decided alone, and the next ones do not wait", async () => {
    await using server = await startRedis();
    await using proxy = await startTcpProxy({ target: { port: server.port } });
    using node = await openNode(proxy.port, { timeoutMs: 250 });
    // Redis has all the time that it takes, until it does not answer.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
    await grantedOf(node, 10);
    proxy.setFaults({ toServer: { stalled: true } });
    const granted = grantedOf(node, 200);
    await vi.advanceTimersByTimeAsync(250);
    expect(await granted).toBe(50);
    expect(node.told).toEqual(["away"]);
    realTimers[Symbol.dispose]();
    proxy.setFaults({});
    node.rest();
    await expect
      .poll(async () => {
        node.rest();
        await node.counters.take([REQUESTS]);
        return node.access.isAway;
      })
      .toBe(false);
  });
});

it("a lease that ends while it is renewed stays ended", async () => {
  const counters = new MemoryCounters(() => 0);
  const renewed = Promise.withResolvers<void>();
  const slow = {
    take: async (checks: readonly LeaseCheck[]) => {
      await renewed.promise;
      return counters.take(checks);
    },
    settle: async () => {},
    release: (leases: readonly LeaseCheck[]) => counters.release(leases),
  };
  await counters.take([READER]);
  await using held = new HeldLeases(slow, { onError: (error) => expect.unreachable(String(error)) });
  held.keep("a", [READER]);
  const renewal = held.renew();
  held.release("a");
  renewed.resolve();
  await renewal;
  expect((await counters.take([{ ...READER, limit: 1, member: "b" }])).refused).toBeUndefined();
});

it.each(["http://127.0.0.1", "not a url", "redis"])("the URL %s is refused, and not repeated", (url) => {
  expect(() => openRedis(url, { onError: () => {} })).toThrow(/must be a redis:\/\/ or rediss:\/\/ URL/);
});
