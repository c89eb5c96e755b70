import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_POLICY,
  effectivePolicySchema,
  type Policy,
  policySchema,
  tightenPolicy,
  WORKER_LOSS_ANSWERS,
} from "./policy.ts";
import { anyTimeouts } from "./timeouts.fixture.ts";
import { tightenTimeouts } from "./timeouts.ts";

const anyPolicy: fc.Arbitrary<Policy> = fc.record(
  {
    max_attempts: fc.integer({ min: 1, max: 10 }),
    on_worker_loss: fc.constantFrom(...WORKER_LOSS_ANSWERS),
    on_disconnect: fc.oneof(fc.constant("keep" as const), fc.record({ cancel_after: fc.nat(86_400_000) })),
    timeouts: anyTimeouts,
    pace: fc.record({ max_lead_tokens: fc.integer({ min: 1, max: 1_000_000 }) }),
    chunking: fc.oneof(
      fc.constantFrom("off" as const, "auto" as const),
      fc.record({
        max_ms: fc.integer({ min: 1, max: 1_000 }),
        max_tokens: fc.integer({ min: 1, max: 1_000 }),
      }),
    ),
    delivery: fc.record({ min_interval_ms: fc.nat(10_000) }),
  },
  { requiredKeys: [] },
);

describe("two policies made one", () => {
  it("are the same whichever of the two is the tenant's", () => {
    fc.assert(
      fc.property(anyPolicy, anyPolicy, (a, b) => {
        expect(tightenPolicy(a, b)).toEqual(tightenPolicy(b, a));
      }),
    );
  });

  it("are never looser than either, and no stricter than the stricter one", () => {
    fc.assert(
      fc.property(anyPolicy, anyPolicy, (a, b) => {
        const both = tightenPolicy(a, b);
        const attempts = said(a.max_attempts, b.max_attempts, DEFAULT_POLICY.max_attempts);
        const losses = said(a.on_worker_loss, b.on_worker_loss, DEFAULT_POLICY.on_worker_loss).map(
          strictness,
        );
        expect(both.max_attempts).toBe(Math.min(...attempts));
        expect(strictness(both.on_worker_loss)).toBe(Math.max(...losses));
        expect(patience(both)).toBe(Math.min(patience(a), patience(b)));
        expect(lead(both)).toBe(Math.min(lead(a), lead(b)));
        expect(interval(both)).toBe(Math.max(interval(a), interval(b)));
        expect(hold(both)).toBe(Math.min(hold(a), hold(b), (a.chunking ?? b.chunking) ? Infinity : AUTO));
        expect(both.timeouts).toEqual(tightenTimeouts(a.timeouts ?? {}, b.timeouts ?? {}));
      }),
    );
  });

  it("change nothing when tightened again with either", () => {
    fc.assert(
      fc.property(anyPolicy, anyPolicy, (a, b) => {
        expect(tightenPolicy(tightenPolicy(a, b), a)).toEqual(tightenPolicy(a, b));
      }),
    );
  });

  it("leave nothing open, and are the default where neither says anything", () => {
    fc.assert(
      fc.property(anyPolicy, anyPolicy, (a, b) => {
        expect(effectivePolicySchema.safeParse(tightenPolicy(a, b)).success).toBe(true);
      }),
    );
    expect(tightenPolicy({}, {})).toEqual(DEFAULT_POLICY);
  });
});

describe("a policy", () => {
  it.each([
    { max_attempts: 0 },
    { max_attempts: 11 },
    { max_attempts: 1.5 },
    { on_worker_loss: "ask" },
    { on_disconnect: "cancel" },
    { on_disconnect: { cancel_after: -1 } },
    { on_disconnect: { cancel_after: 86_400_001 } },
    { on_disconnect: { cancel_after: 1, answer: "fail" } },
    { timeouts: { queue: { after_ms: 0 } } },
    { timeouts: { total: { after_ms: 86_400_001 } } },
    { timeouts: { queue: { answer: "retry" } } },
    { timeouts: { total: { answer: "retry" } } },
    { timeouts: { tool_result: { answer: "retry" } } },
    { timeouts: { idle: { after_ms: 1 } } },
    { pace: {} },
    { pace: { max_lead_tokens: 0 } },
    { delivery: { min_interval_ms: 10_001 } },
    { chunking: "on" },
    { chunking: { max_ms: 10 } },
    { chunking: { max_ms: 1_001, max_tokens: 1 } },
    { chunking: { max_ms: 1, max_tokens: 0 } },
    { moderation: { mode: "block" } },
    { moderation: { rules: ["everything"] } },
    { audit: {} },
  ])("that this version can't act on is refused: %j", (policy) =>
    expect(policySchema.safeParse(policy).success).toBe(false),
  );
});

/** Returns the values that the policies set, or else the default. */
function said<T>(a: T | undefined, b: T | undefined, fallback: T): T[] {
  const values = [a, b].filter((value) => value !== undefined);
  return values.length > 0 ? values : [fallback];
}

/** Milliseconds that a generation may be without a reader. */
function patience({ on_disconnect = "keep" }: Policy): number {
  return on_disconnect === "keep" ? Infinity : on_disconnect.cancel_after;
}

function lead({ pace }: Policy): number {
  return pace?.max_lead_tokens ?? Infinity;
}

function interval({ delivery }: Policy): number {
  return delivery?.min_interval_ms ?? 0;
}

const AUTO = 0.5;

/** A number that grows with how long a delta is held; infinite if the policy does not say. */
function hold({ chunking }: Policy): number {
  if (typeof chunking === "object") return chunking.max_ms;
  return chunking === "off" ? 0 : chunking === "auto" ? AUTO : Infinity;
}

function strictness(answer: (typeof WORKER_LOSS_ANSWERS)[number]): number {
  return WORKER_LOSS_ANSWERS.indexOf(answer);
}
