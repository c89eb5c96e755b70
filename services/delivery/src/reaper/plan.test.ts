import {
  DEFAULT_POLICY,
  createGenerationId,
  parseTenantId,
  asSeq,
  asStreamSeq,
  asUnixMs,
  NEVER,
  plusMs,
} from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Absence,
  type Observation,
  plan,
  type Phase,
  type ReapPolicy,
  reasonToEnd,
  watchJob,
} from "./plan.ts";

const LEASE_MS = 6_000;
const QUEUED_MS = asUnixMs(1_000_000);
const JOB = {
  ref: { tenant: parseTenantId("acme"), generation: createGenerationId(Buffer.alloc(17, 1), 1) },
  model: "sim",
  priority: "interactive" as const,
  streamSeq: asStreamSeq(7),
  queuedAtMs: QUEUED_MS,
};

interface Given {
  queueMs?: number;
  totalMs?: number;
  cancelAfterMs?: number;
}

function policyOf({ queueMs = 60_000, totalMs = 1_800_000, cancelAfterMs }: Given): ReapPolicy {
  const { queue, total, between_tokens } = DEFAULT_POLICY.timeouts;
  return {
    on_disconnect: cancelAfterMs === undefined ? "keep" : { cancel_after: cancelAfterMs },
    timeouts: {
      queue: { ...queue, after_ms: queueMs },
      total: { ...total, after_ms: totalMs },
      between_tokens,
    },
  };
}

const watchedOf = (given: Given) => watchJob(JOB, policyOf(given), QUEUED_MS);
const absent = (sinceMs: number | undefined, more: Partial<Absence> = {}): Absence => ({
  sinceMs: sinceMs === undefined ? undefined : plusMs(QUEUED_MS, sinceMs),
  wasRead: true,
  judgedFromMs: asUnixMs(0),
  ...more,
});
const seen = (phase: Phase, afterMs: number, absence?: Absence): Observation => ({
  atMs: plusMs(QUEUED_MS, afterMs),
  phase,
  absence,
});
const stepOf = (given: Given, looked: Observation) => {
  const { watched, effect } = plan(watchedOf(given), looked, LEASE_MS);
  return { effect: effect?.kind, lookAfterMs: watched && watched.inspectAtMs - QUEUED_MS };
};
const reasonOf = (given: Given, looked: Observation) => reasonToEnd(watchedOf(given), looked, LEASE_MS);

describe("a generation that no worker has begun", () => {
  test("ends when its time in the queue is up, not before", () => {
    const given = { queueMs: 5_000 };
    expect(stepOf(given, seen("queued", 4_999))).toEqual({ effect: undefined, lookAfterMs: 5_000 });
    expect(stepOf(given, seen("queued", 5_000))).toMatchObject({ effect: "end" });
    expect(reasonOf(given, seen("queued", 5_000))).toBe("queue_timeout");
  });

  test("ends when its total time is up, if that is shorter", () => {
    expect(reasonOf({ queueMs: 9_000, totalMs: 5_000 }, seen("queued", 5_000))).toBe("total_timeout");
  });

  test("gets its seq 0 first, where its creator died before writing it", () => {
    expect(stepOf({ queueMs: 5_000 }, seen("absent", 4_000))).toMatchObject({ effect: undefined });
    expect(stepOf({ queueMs: 5_000 }, seen("absent", 5_000))).toMatchObject({ effect: "restore" });
  });
});

test("one that has begun is its worker's, until 10 s after its total time", () => {
  const given = { queueMs: 5_000, totalMs: 40_000 };
  expect(stepOf(given, seen("begun", 40_000))).toEqual({ effect: undefined, lookAfterMs: 50_000 });
  expect(reasonOf(given, seen("begun", 49_999))).toBeUndefined();
  expect(reasonOf(given, seen("begun", 50_000))).toBe("worker_lost");
});

describe("a generation that a producer writes", () => {
  const external = watchJob({ ...JOB, model: "external" }, policyOf({}), QUEUED_MS);
  const heard = (afterMs: number, atMs: number) => ({
    ...seen("begun", afterMs),
    heard: { atMs: plusMs(QUEUED_MS, atMs), seq: asSeq(1) },
  });

  test("ends when its producer was silent for the time between two tokens, and not before", () => {
    expect(plan(external, heard(39_999, 10_000), LEASE_MS)).toMatchObject({
      watched: { inspectAtMs: plusMs(QUEUED_MS, 40_000) },
    });
    expect(plan(external, heard(40_000, 10_000), LEASE_MS).effect).toEqual({ kind: "end" });
    expect(reasonToEnd(external, heard(40_000, 10_000), LEASE_MS)).toBe("worker_lost");
  });

  test("is inspected as often as that, and ends with its total time", () => {
    expect(external.inspectAtMs).toBe(plusMs(QUEUED_MS, 30_000));
    expect(reasonToEnd(external, heard(1_800_000, 1_800_000), LEASE_MS)).toBe("total_timeout");
  });
});

test("deletes the job of a generation that has ended, and forgets it when the job is gone", () => {
  expect(stepOf({}, seen("ended", 0))).toMatchObject({ effect: "delete" });
  expect(plan(watchedOf({}), seen("gone", 0), LEASE_MS)).toEqual({});
  expect(reasonOf({}, seen("ended", 10_000_000))).toBeUndefined();
});

test("inspects a job every minute even with nothing due, for most end by themselves", () => {
  expect(watchedOf({ queueMs: 86_400_000 }).inspectAtMs).toBe(QUEUED_MS + 60_000);
  expect(stepOf({}, seen("begun", 1_000))).toEqual({ effect: undefined, lookAfterMs: 61_000 });
});

describe("a turn that waits for others", () => {
  const given = { queueMs: 5_000, totalMs: 60_000 };
  const waits = (afterMs: number, until: number | undefined): Observation => ({
    ...seen("queued", afterMs),
    waitedUntilMs: until === undefined ? NEVER : plusMs(QUEUED_MS, until),
  });

  test("has its time in the queue from when the last of them has ended", () => {
    expect(stepOf(given, waits(12_999, 8_000))).toEqual({ effect: undefined, lookAfterMs: 13_000 });
    expect(reasonOf(given, waits(13_000, 8_000))).toBe("queue_timeout");
  });

  test("is not ended while one continues, and is inspected when its time could first be up", () => {
    expect(stepOf(given, waits(20_000, undefined))).toEqual({ effect: undefined, lookAfterMs: 25_000 });
    expect(stepOf({ queueMs: 0 }, waits(20_000, undefined))).toMatchObject({ effect: undefined });
  });

  test("ends when its total time is up all the same", () => {
    expect(reasonOf(given, waits(60_000, undefined))).toBe("total_timeout");
  });
});

describe("a generation whose policy ends it without readers", () => {
  const given = { cancelAfterMs: 10_000 };

  test("ends so long after the last reader has left, in the queue and in its worker's hands alike", () => {
    expect(reasonOf(given, seen("begun", 29_999, absent(20_000)))).toBeUndefined();
    expect(reasonOf(given, seen("begun", 30_000, absent(20_000)))).toBe("abandoned");
    expect(reasonOf(given, seen("queued", 30_000, absent(20_000)))).toBe("abandoned");
    expect(stepOf(given, seen("begun", 25_000, absent(20_000)))).toMatchObject({ lookAfterMs: 30_000 });
  });

  test("does not end while it has a reader, and is inspected again when that reader could first have been away for long enough", () => {
    expect(stepOf(given, seen("begun", 50_000, absent(undefined)))).toEqual({
      effect: undefined,
      lookAfterMs: 60_000,
    });
  });

  test("does not end before absence can be judged", () => {
    const late = absent(20_000, { judgedFromMs: plusMs(QUEUED_MS, 36_000) });
    expect(stepOf(given, seen("begun", 30_000, late))).toEqual({ effect: undefined, lookAfterMs: 36_000 });
    expect(reasonOf(given, seen("begun", 36_000, late))).toBe("abandoned");
  });

  test("waits a lease for its first reader, which has to be told the id before", () => {
    const unread = absent(0, { wasRead: false });
    expect(reasonOf({ cancelAfterMs: 0 }, seen("queued", LEASE_MS - 1, unread))).toBeUndefined();
    expect(reasonOf({ cancelAfterMs: 0 }, seen("queued", LEASE_MS, unread))).toBe("abandoned");
    expect(reasonOf(given, seen("queued", LEASE_MS, unread))).toBeUndefined();
  });
});

describe("for any observation", () => {
  const within = (ms: number) => fc.nat(ms).map((afterMs) => plusMs(QUEUED_MS, afterMs));
  const given = fc.record({
    queueMs: fc.integer({ min: 1, max: 100_000 }),
    totalMs: fc.integer({ min: 1, max: 100_000 }),
    cancelAfterMs: fc.option(fc.nat(100_000), { nil: undefined }),
  }) as fc.Arbitrary<Given>;
  const phase = fc.constantFrom<Phase>("absent", "queued", "begun", "handed_over");
  const absence = fc.option(
    fc.record({
      sinceMs: fc.option(within(200_000), { nil: undefined }),
      wasRead: fc.boolean(),
      judgedFromMs: within(200_000),
    }),
    { nil: undefined },
  );
  const looked = fc.record({
    atMs: within(300_000),
    phase,
    absence,
  });

  test("there is an effect exactly when there is a reason, and else a later inspection within a minute", () => {
    fc.assert(
      fc.property(given, looked, (policy, shown) => {
        const { watched, effect } = plan(watchedOf(policy), shown, LEASE_MS);
        expect(effect !== undefined).toBe(reasonOf(policy, shown) !== undefined);
        const waitMs = watched!.inspectAtMs - shown.atMs;
        expect(effect !== undefined || (waitMs > 0 && waitMs <= 60_000)).toBe(true);
      }),
    );
  });

  test("a generation without readers and without a worker ends in bounded time", () => {
    fc.assert(
      fc.property(given, phase, (policy, shownPhase) => {
        const watched = watchedOf(policy);
        const atMs = plusMs(QUEUED_MS, watched.policy.timeouts.total.after_ms + 10_000);
        expect(reasonToEnd(watched, { atMs, phase: shownPhase }, LEASE_MS)).toBeDefined();
      }),
    );
  });

  test("what one reaper ends, one that inspects later would end too", () => {
    fc.assert(
      fc.property(given, looked, fc.nat(100_000), (policy, shown, laterMs) => {
        fc.pre(shown.absence?.sinceMs !== undefined && reasonOf(policy, shown) !== undefined);
        expect(reasonOf(policy, { ...shown, atMs: plusMs(shown.atMs, laterMs) })).toBeDefined();
      }),
    );
  });
});
