import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseReplica } from "./choose-replica.ts";
import {
  isOut,
  LONGEST_EJECTION_MS,
  NEW_REPLICA,
  nextReplicas,
  type ReplicaEvent,
  type ReplicaOutcome,
  type ReplicaState,
  type ReplicaStates,
} from "./replica-state.ts";

const RULES = { ejectAfter: 3, ejectMs: 10_000 };
const FAILED: ReplicaOutcome = { kind: "failed", because: "it broke" };
const ANSWERED: ReplicaOutcome = { kind: "answered" };
const NONE: ReadonlySet<number> = new Set();

const replicas = (count: number): ReplicaStates => Array.from({ length: count }, () => NEW_REPLICA);

/** Requests one after the other at one server, each of which ends so. */
function after(states: ReplicaStates, replica: number, outcomes: readonly ReplicaOutcome[], nowMs = 0) {
  return outcomes.reduce((all, outcome) => {
    const asked = nextReplicas(all, { kind: "asked", replica }, nowMs, RULES);
    return nextReplicas(asked, { kind: "ended", replica, outcome }, nowMs, RULES);
  }, states);
}

const probed = (states: ReplicaStates, replica: number, nowMs: number, because?: string) =>
  nextReplicas(states, { kind: "probed", replica, because }, nowMs, RULES);
const choose = (states: ReplicaStates, wish: Partial<Parameters<typeof chooseReplica>[1]> = {}) =>
  chooseReplica(states, { tried: NONE, avoid: NONE, nowMs: 0, random: 0, ...wish }, RULES);
const times = <T>(count: number, value: T) => Array<T>(count).fill(value);
const kinds = (states: ReplicaStates) => states.map(({ standing }) => standing.kind);

describe("a server of several", () => {
  test("is ejected by failures in a row, and an answer between two begins them again", () => {
    expect(kinds(after(replicas(2), 0, [FAILED, FAILED, ANSWERED, FAILED, FAILED]))).toEqual(["in", "in"]);
    const [state] = after(replicas(2), 0, times(3, FAILED), 5);
    expect(state!.standing).toEqual({ kind: "out", untilMs: 10_005, because: "it broke" });
  });

  test("is let in on trial by a probe after its time, and is in or out by one request", () => {
    const out = after(replicas(2), 0, times(3, FAILED));
    expect(kinds(probed(out, 0, 9_999))).toEqual(["out", "in"]);
    const trial = probed(out, 0, 10_000);
    expect(kinds(trial)).toEqual(["trial", "in"]);
    expect(kinds(after(trial, 0, [ANSWERED], 10_000))).toEqual(["in", "in"]);
    const [again] = after(trial, 0, [FAILED], 10_000);
    expect(again!.standing).toMatchObject({ kind: "out", untilMs: 30_000 });
  });

  test("is ejected for twice as long each time, up to five minutes, until it was in for so long", () => {
    let [states, nowMs] = [after(replicas(2), 0, times(3, FAILED)), 0];
    const lengths: number[] = [];
    for (let i = 0; i < 7; i++) {
      const { standing } = states[0]!;
      const untilMs = standing.kind === "out" ? standing.untilMs : Number.NaN;
      lengths.push(untilMs - nowMs);
      nowMs = untilMs;
      states = after(probed(states, 0, nowMs), 0, [FAILED], nowMs);
    }
    expect(lengths).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    const { standing } = states[0]!;
    const backMs = standing.kind === "out" ? standing.untilMs : Number.NaN;
    const back = after(probed(states, 0, backMs), 0, [ANSWERED], backMs);
    const soon = after(back, 0, times(3, FAILED), backMs + 1_000)[0]!.standing;
    expect(soon).toMatchObject({ untilMs: backMs + 1_000 + LONGEST_EJECTION_MS });
    const lateMs = backMs + LONGEST_EJECTION_MS + 1;
    expect(after(back, 0, times(3, FAILED), lateMs)[0]!.standing).toMatchObject({ untilMs: lateMs + 10_000 });
  });

  test("is not ejected by failed probes between which one was answered, and is by failed requests beside them", () => {
    const now = 1;
    const away = (states: ReplicaStates) => probed(states, 0, now, "it is away");
    const answered = (states: ReplicaStates) => probed(states, 0, now);
    expect(kinds(away(away(answered(away(away(replicas(2)))))))).toEqual(["in", "in"]);
    expect(kinds(away(answered(after(replicas(2), 0, times(2, FAILED)))))).toEqual(["out", "in"]);
  });

  test("is ejected where a quarter of its last twenty requests were refused, and few of the others'", () => {
    const refused: ReplicaOutcome = { kind: "refused", because: "no such model" };
    const mixed = [...times(15, ANSWERED), ...times(5, refused)];
    expect(kinds(after(after(replicas(2), 1, times(20, ANSWERED)), 0, mixed))).toEqual(["out", "in"]);
    // The requests are at fault where the others refuse a twelfth of theirs.
    const some = after(replicas(2), 1, [...times(19, ANSWERED), ...times(2, refused)]);
    expect(kinds(after(some, 0, mixed))).toEqual(["in", "in"]);
    expect(kinds(after(after(replicas(2), 1, times(20, ANSWERED)), 0, mixed.slice(1)))).toEqual(["in", "in"]);
  });

  test("is not ejected by requests that are left, or that it had no room for", () => {
    const outcomes: ReplicaOutcome[] = [{ kind: "left" }, { kind: "busy", forMs: 1_000 }];
    expect(kinds(after(replicas(2), 0, times(30, outcomes).flat()))).toEqual(["in", "in"]);
  });
});

describe("a request goes to", () => {
  const loaded = (...loads: number[]) =>
    loads.map((inFlight): ReplicaState => ({ ...NEW_REPLICA, inFlight }));

  test("the server with the fewest requests, of several the one that began its last answers soonest, and of these any", () => {
    expect(choose(loaded(2, 1, 3))).toBe(1);
    const measured = [400, 50, 90].map((firstBytesMs): ReplicaState => ({
      ...NEW_REPLICA,
      firstBytesMs,
      measuredAtMs: 0,
    }));
    expect(choose(measured)).toBe(1);
    expect([0, 0.4, 0.99].map((random) => choose(loaded(0, 0, 0), { random }))).toEqual([0, 1, 2]);
  });

  test("one that was slow, when that is long ago", () => {
    const slow = { ...NEW_REPLICA, firstBytesMs: 1_000, measuredAtMs: 0 };
    const fast = { ...NEW_REPLICA, firstBytesMs: 50, measuredAtMs: 300_000 };
    expect(choose([slow, { ...fast, measuredAtMs: 0 }])).toBe(1);
    expect(choose([slow, fast], { nowMs: 300_000 })).toBe(0);
  });

  test("one that has room, and on which no attempt of it has failed, where there is one", () => {
    const busy = after(replicas(2), 0, [{ kind: "busy", forMs: 1_000 }]);
    expect([choose(busy), choose(busy, { nowMs: 1_001, avoid: new Set([1]) })]).toEqual([1, 0]);
    expect(choose(busy, { avoid: new Set([1]) })).toBe(0);
    expect(choose(replicas(2), { tried: new Set([0]), avoid: new Set([1]) })).toBe(1);
    expect(choose(replicas(2), { tried: new Set([0, 1]) })).toBeUndefined();
  });

  test("an ejected one where those that are in fail too", () => {
    const failing = after(after(replicas(2), 0, times(3, FAILED)), 1, times(3, FAILED));
    expect(kinds(failing)).toEqual(["out", "in"]);
    expect(choose(failing, { tried: new Set([1]) })).toBe(0);
    expect(choose(after(failing, 1, [ANSWERED]), { tried: new Set([1]) })).toBeUndefined();
  });
});

const anyOutcome: fc.Arbitrary<ReplicaOutcome> = fc.oneof(
  fc.constantFrom(ANSWERED, FAILED, FAILED, { kind: "left" } as const),
  fc.constant<ReplicaOutcome>({ kind: "refused", because: "no such model" }),
  fc.constant<ReplicaOutcome>({ kind: "busy", forMs: 1_000 }),
);
const anyStep = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.nat(30_000)),
  kind: fc.constantFrom("ask", "ask", "end", "end", "probe", "lost"),
  which: fc.nat(),
  outcome: anyOutcome,
  random: fc.double({ min: 0, max: 0.999, noNaN: true }),
});

/** Plays steps as a pool does: what is asked ends later, in any order. */
function play(
  count: number,
  steps: readonly (typeof anyStep extends fc.Arbitrary<infer Step> ? Step : never)[],
  check: (before: ReplicaStates, chosen: number | undefined, after: ReplicaStates, nowMs: number) => void,
) {
  let [states, nowMs] = [replicas(count), 0];
  const running: number[] = [];
  for (const { afterMs, kind, which, outcome, random } of steps) {
    nowMs += afterMs;
    const before = states;
    const happen = (event: ReplicaEvent) => (states = nextReplicas(states, event, nowMs, RULES));
    let chosen: number | undefined;
    if (kind === "ask") {
      chosen = choose(states, { nowMs, random });
      happen({ kind: "asked", replica: chosen! });
      running.push(chosen!);
    } else if (kind === "end" && running.length > 0) {
      const [replica] = running.splice(which % running.length, 1);
      happen({ kind: "ended", replica: replica!, outcome });
    } else {
      const because = kind === "lost" ? "it is away" : undefined;
      happen({ kind: "probed", replica: which % count, because });
    }
    check(before, chosen, states, nowMs);
  }
  return { states, running, nowMs };
}

const isIn = (state: ReplicaState) =>
  state.standing.kind === "in" || (state.standing.kind === "trial" && state.inFlight === 0);

describe("whatever happens", () => {
  const anySteps = fc.array(anyStep, { maxLength: 200 });
  const anyCount = fc.integer({ min: 1, max: 7 });

  test("no ejected server is asked while a sound one is in, one on trial has one request, and at most half are out", () => {
    fc.assert(
      fc.property(anyCount, anySteps, (count, steps) => {
        play(count, steps, (before, chosen, states) => {
          const isSound = before.some((state) => isIn(state) && state.failures < RULES.ejectAfter);
          expect(chosen !== undefined && isSound && !isIn(before[chosen]!)).toBe(false);
          expect(2 * states.filter(isOut).length).toBeLessThanOrEqual(count);
          expect(states.every(({ inFlight }) => inFlight >= 0)).toBe(true);
        });
      }),
      { numRuns: 300 },
    );
  });

  test("no server starves: with probes and requests that are answered all are in again and asked in turn", () => {
    fc.assert(
      fc.property(anyCount, anySteps, (count, steps) => {
        const played = play(count, steps, () => undefined);
        let { states, nowMs } = played;
        for (const replica of played.running)
          states = nextReplicas(states, { kind: "ended", replica, outcome: ANSWERED }, nowMs, RULES);
        nowMs += LONGEST_EJECTION_MS;
        for (let i = 0; i < count; i++) states = probed(states, i, nowMs);
        // All at once, so each of them has one.
        const asked = Array.from({ length: count }, () => {
          const chosen = choose(states, { nowMs: nowMs + 10_000 })!;
          states = nextReplicas(states, { kind: "asked", replica: chosen }, nowMs, RULES);
          return chosen;
        });
        expect(new Set(asked).size).toBe(count);
        for (const replica of asked)
          states = nextReplicas(states, { kind: "ended", replica, outcome: ANSWERED }, nowMs, RULES);
        expect(states.every(({ standing, failures }) => standing.kind === "in" && failures === 0)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
