import { describe, expect, it } from "vitest";
import { MemoryCounters } from "./memory-counters.ts";
import { toRateLimitHeaders } from "./rate-limit-headers.ts";
import { tenantLimitsSchema, toLimitChecks } from "./tenant-limits.ts";

const SUBJECT = { tenant: "acme", keyId: "key_1", endUser: "Ann <ann@example.org>", address: "192.0.2.7" };

describe("the checks of a call", () => {
  it("are one per scope and limit that the tenant has and the call uses", () => {
    const limits = {
      tenant: { requests_per_minute: 600, generations: 5 },
      key: { requests_per_minute: 60 },
      end_user: { tokens_per_minute: 1_000 },
      address: { readers: 3 },
    };
    const use = { requests: 1, tokens: 50, generation: "gen_1" };
    expect(toLimitChecks(limits, SUBJECT, use).map(({ name, kind, limit }) => [name, kind, limit])).toEqual([
      ["tenant.requests_per_minute", "rate", 600],
      ["tenant.generations", "lease", 5],
      ["key.requests_per_minute", "rate", 60],
      ["end_user.tokens_per_minute", "rate", 1_000],
    ]);
  });

  it("are none for a tenant without limits", () => {
    expect(toLimitChecks({}, SUBJECT, { requests: 1, reader: "r" })).toEqual([]);
  });

  it("leave out the end user where a call names none", () => {
    const limits = { end_user: { requests_per_minute: 1 } };
    expect(toLimitChecks(limits, { ...SUBJECT, endUser: undefined }, { requests: 1 })).toEqual([]);
  });

  it("count tenants, keys, users and addresses apart, and hold neither users nor addresses in clear", () => {
    const scope = { requests_per_minute: 1 };
    const limits = { tenant: scope, key: scope, end_user: scope, address: scope };
    const keys = [
      SUBJECT,
      { ...SUBJECT, tenant: "other" },
      { ...SUBJECT, keyId: "key_2" },
      { ...SUBJECT, endUser: "Bob" },
      { ...SUBJECT, address: "192.0.2.8" },
    ].flatMap((subject) => toLimitChecks(limits, subject, { requests: 1 }).map(({ key }) => key));
    // 4 of the first, 4 of the other tenant, and one more for each other subject.
    expect(new Set(keys).size).toBe(11);
    expect(keys.join(" ")).not.toMatch(/ann|example|192\.0/i);
  });
});

describe("a limits object", () => {
  it.each([
    [{ tenant: { requests_per_minute: 0 } }],
    [{ tenant: { requests_per_minute: 1.5 } }],
    [{ tenant: { requests_per_hour: 1 } }],
    [{ user: {} }],
  ])("%j is refused", (limits) => {
    expect(tenantLimitsSchema.safeParse(limits).success).toBe(false);
  });
});

describe("the header fields", () => {
  const limits = { tenant: { requests_per_minute: 60, readers: 4 }, key: { requests_per_minute: 6 } };
  const checks = toLimitChecks(limits, SUBJECT, { requests: 1, reader: "r" });

  it("name every limit with its quota, and the state of the tightest one", async () => {
    const counters = new MemoryCounters(() => 0);
    await counters.take(checks);
    await counters.take(checks);
    expect(toRateLimitHeaders(await counters.take(checks))).toEqual({
      "RateLimit-Policy":
        '"tenant.requests_per_minute";q=60;w=60, "tenant.readers";q=4;qu="concurrent-requests", "key.requests_per_minute";q=6;w=60',
      RateLimit: '"key.requests_per_minute";r=3;t=30',
    });
  });

  it("name the limit that refused a call", async () => {
    const counters = new MemoryCounters(() => 0);
    for (let i = 0; i < 6; i++) await counters.take(checks);
    expect(toRateLimitHeaders(await counters.take(checks))?.RateLimit).toBe(
      '"key.requests_per_minute";r=0;t=60',
    );
  });

  it("are left out where nothing is limited", () => {
    expect(toRateLimitHeaders({ standings: [] })).toBeUndefined();
  });
});
