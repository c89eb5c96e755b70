import { parseTenantId } from "@reprise/protocol";
import { PATIENCE_MS, startRedis } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRedis } from "../redis/open-redis.ts";
import type { BudgetAccount } from "./budget-account.ts";
import { describeLedger } from "./ledger.fixture.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { RedisLedger } from "./redis-ledger.ts";

const START_MS = Date.UTC(2026, 10, 23, 12);
const MONTH: BudgetAccount = {
  tenant: parseTenantId("acme"),
  name: "month",
  key: "{acme}.month.2026-11",
  limit: 1_000,
  endsAtMs: Date.UTC(2026, 11, 1),
};

describe("in memory", () => {
  describeLedger(() => {
    let nowMs = START_MS;
    return { ledger: new MemoryLedger(() => nowMs), pass: (ms) => (nowMs += ms) };
  });
});

describe("in Redis", () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let redis: ReturnType<typeof openRedis>;
  beforeAll(async () => {
    server = await startRedis();
    redis = openRedis(`redis://127.0.0.1:${server.port}`, { onError: () => {}, timeoutMs: PATIENCE_MS });
    await new Promise<void>((resolve) => redis.once("ready", () => resolve()));
  });
  afterAll(async () => {
    redis.disconnect();
    await server[Symbol.asyncDispose]();
  });

  describeLedger(() => {
    let nowMs = START_MS;
    return { ledger: new RedisLedger(redis, { now: () => nowMs }), pass: (ms) => (nowMs += ms) };
  });

  it("continues from what processes have seen when Redis has lost its data", async () => {
    const [one, other] = [new RedisLedger(redis), new RedisLedger(redis)];
    await one.claim("a", [{ account: MONTH, used: 100, want: 0 }]);
    await other.claim("b", [{ account: MONTH, used: 300, want: 0 }]);
    await redis.flushall();
    await one.claim("a", [{ account: MONTH, used: 150, want: 0 }]);
    await other.claim("b", [{ account: MONTH, used: 320, want: 0 }]);
    // 400 as the second process has seen them, and 50 and 20 that came since.
    const [grant] = await one.claim("c", [{ account: MONTH, used: 0, want: 0 }]);
    expect(grant).toEqual({ granted: 0, remaining: 1_000 - 470 });
    await redis.flushall();
    await one.settle("c", [{ account: MONTH, used: 10 }]);
    const [after] = await other.claim("d", [{ account: MONTH, used: 0, want: 0 }]);
    expect(after?.remaining).toBe(1_000 - 480);
  });

  it("continues from what a process has settled when Redis has lost its data", async () => {
    const account = { ...MONTH, key: "{acme}.settled.2026-12" };
    const ledger = new RedisLedger(redis);
    await ledger.claim("a", [{ account, used: 0, want: 200 }]);
    await ledger.settle("a", [{ account, used: 175 }]);
    await redis.flushall();
    const [grant] = await ledger.claim("b", [{ account, used: 0, want: 0 }]);
    expect(grant?.remaining).toBe(1_000 - 175);
  });

  it("counts each of a process's generations once when Redis has lost its data", async () => {
    const account = { ...MONTH, key: "{acme}.several.2026-12" };
    const ledger = new RedisLedger(redis);
    for (const id of ["a", "b", "c"]) await ledger.claim(id, [{ account, used: 100, want: 50 }]);
    await redis.flushall();
    for (const id of ["a", "b"]) await ledger.settle(id, [{ account, used: 120 }]);
    await ledger.claim("c", [{ account, used: 130, want: 0 }]);
    const [grant] = await ledger.claim("d", [{ account, used: 0, want: 0 }]);
    expect(grant?.remaining).toBe(1_000 - 370);
  });

  it("that was seeded is not told again by a process what that has seen before", async () => {
    const account = { ...MONTH, key: "{acme}.seeded.2026-12" };
    const [old, fresh] = [new RedisLedger(redis), new RedisLedger(redis)];
    await old.settle("a", [{ account, used: 300 }]);
    await old.claim("b", [{ account, used: 0, want: 0 }]);
    await redis.flushall();
    expect(await fresh.seed([{ account, ended: 300 }])).toEqual([{ before: 0, after: 300 }]);
    const [grant] = await old.claim("c", [{ account, used: 5, want: 0 }]);
    expect(grant?.remaining).toBe(1_000 - 305);
  });

  it("keeps an account for a day after the end of its period, and one without an end for good", async () => {
    const total: BudgetAccount = { ...MONTH, key: "{acme}.all.total", endsAtMs: undefined };
    const ledger = new RedisLedger(redis);
    await ledger.claim(
      "a",
      [MONTH, total].map((account) => ({ account, used: 1, want: 1 })),
    );
    // The only generation that there is: its end empties the set, and fills it again.
    const one = { ...MONTH, key: "{acme}.one.2026-11" };
    await ledger.claim("a", [{ account: one, used: 1, want: 1 }]);
    await ledger.settle("a", [{ account: one, used: 1 }]);
    const keys = await redis.keys("reprise:budget:*.2026-11*");
    expect(keys).toHaveLength(4);
    for (const key of keys) expect(await redis.pexpiretime(key)).toBe(Date.UTC(2026, 11, 2, 1));
    for (const key of await redis.keys("reprise:budget:*.all.total*")) expect(await redis.pttl(key)).toBe(-1);
  });
});
