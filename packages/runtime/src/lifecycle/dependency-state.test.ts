import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type DependencyInput,
  type DependencyNews,
  type DependencyPhase,
  type DependencyState,
  nextCheckMs,
  nextDependency,
  UP,
} from "./dependency-state.ts";

const RULES = { graceMs: 3_000, holdOffMs: 10_000, isExplained: false };
const NOW = 100_000;
const FAILED: DependencyInput = { kind: "failed", because: "b" };
const WORKED: DependencyInput = { kind: "worked" };
const CHECKED: DependencyInput = { kind: "checked" };

const up: DependencyPhase = { kind: "up" };
const failing = (forMs: number, because = "a", failures = 1): DependencyPhase => ({
  kind: "failing",
  sinceMs: NOW - forMs,
  because,
  failures,
});
const away = (isTold: boolean, because = "a", failures = 1): DependencyPhase => ({
  kind: "away",
  sinceMs: NOW - 5_000,
  because,
  failures,
  isTold,
});
const awayFrom = (sinceMs: number, isTold: boolean, because: string, failures: number): DependencyPhase => ({
  kind: "away",
  sinceMs,
  because,
  failures,
  isTold,
});

type Case = [phase: DependencyPhase, input: DependencyInput, next: DependencyPhase, news?: DependencyNews];

/** Every phase, shorter and longer than the grace period, with every input. */
const CASES: readonly Case[] = [
  [up, FAILED, failing(0, "b")],
  [up, WORKED, up],
  [up, CHECKED, up],
  [failing(2_999), FAILED, failing(2_999, "b", 2)],
  [failing(2_999), WORKED, up],
  [failing(2_999), CHECKED, failing(2_999)],
  [failing(3_000), FAILED, awayFrom(NOW - 3_000, true, "b", 2), { kind: "gone", because: "b", flaps: 0 }],
  [failing(3_000), WORKED, up],
  [failing(3_000), CHECKED, awayFrom(NOW - 3_000, true, "a", 1), { kind: "gone", because: "a", flaps: 0 }],
  [away(false), FAILED, away(true, "b", 2), { kind: "gone", because: "b", flaps: 0 }],
  [away(false), WORKED, up],
  [away(false), CHECKED, away(true), { kind: "gone", because: "a", flaps: 0 }],
  [away(true), FAILED, away(true, "b", 2), { kind: "changed", because: "b" }],
  [away(true, "b"), FAILED, away(true, "b", 2)],
  [away(true), WORKED, up, { kind: "back", awayMs: 5_000, failures: 1 }],
  [away(true), CHECKED, away(true)],
];

test.each(CASES)("%j, %j: %j", (phase, input, next, news) => {
  const step = nextDependency({ ...UP, phase }, input, NOW, RULES);
  expect([step.state.phase, step.news]).toEqual([next, news]);
});

describe("a loss soon after one that was logged", () => {
  const told: DependencyState = { phase: up, toldAtMs: NOW - 6_000, flaps: 0 };

  test("is logged when the hold-off is over, with how many others were not", () => {
    const short = nextDependency({ ...told, phase: failing(3_000) }, FAILED, NOW, RULES);
    expect(short).toMatchObject({ state: { phase: { kind: "away", isTold: false } } });
    expect(short.news).toBeUndefined();
    const back = nextDependency(short.state, WORKED, NOW + 500, RULES);
    expect(back).toEqual({ state: { phase: up, toldAtMs: NOW - 6_000, flaps: 1 } });
    const again = nextDependency({ ...back.state, phase: failing(0) }, CHECKED, NOW + 4_000, RULES);
    expect(again.news).toEqual({ kind: "gone", because: "a", flaps: 1 });
  });

  test("is not counted when it ends after the hold-off", () => {
    const late = { ...told, toldAtMs: NOW - 20_000, phase: away(false), flaps: 2 };
    expect(nextDependency(late, WORKED, NOW, RULES).state.flaps).toBe(0);
  });

  test("is checked when the grace period is over, and again when the hold-off is", () => {
    expect(nextCheckMs(told, RULES)).toBeUndefined();
    expect(nextCheckMs({ ...told, phase: failing(1_000) }, RULES)).toBe(NOW + 2_000);
    expect(nextCheckMs({ ...told, phase: away(false) }, RULES)).toBe(NOW + 4_000);
    expect(nextCheckMs({ ...told, phase: away(true) }, RULES)).toBeUndefined();
  });
});

test("a loss that another one explains is away and not logged, until nothing explains it", () => {
  const explained = nextDependency(UP, FAILED, NOW, { ...RULES, graceMs: 0, isExplained: true });
  expect(explained).toMatchObject({ state: { phase: { kind: "away", isTold: false } } });
  expect(explained.news).toBeUndefined();
  expect(nextDependency(explained.state, CHECKED, NOW, { ...RULES, graceMs: 0 }).news?.kind).toBe("gone");
});

const anyInput = fc.record({
  input: fc.constantFrom(FAILED, WORKED, CHECKED),
  afterMs: fc.integer({ min: 0, max: 5_000 }),
  isExplained: fc.boolean(),
});

test("losses and returns are logged in turn, and losses no closer than the hold-off", () => {
  const run = fc.property(fc.array(anyInput, { maxLength: 60 }), (inputs) => {
    let state = UP;
    let nowMs = 0;
    const told: { kind: string; atMs: number }[] = [];
    for (const { input, afterMs, isExplained } of inputs) {
      nowMs += afterMs;
      const step = nextDependency(state, input, nowMs, { ...RULES, isExplained });
      state = step.state;
      if (step.news && step.news.kind !== "changed") told.push({ kind: step.news.kind, atMs: nowMs });
    }
    expect(told.map(({ kind }) => kind)).toEqual(told.map((_, i) => (i % 2 === 0 ? "gone" : "back")));
    const gone = told.filter(({ kind }) => kind === "gone").map(({ atMs }) => atMs);
    const gaps = gone.slice(1).map((atMs, i) => atMs - gone[i]!);
    expect(Math.min(RULES.holdOffMs, ...gaps)).toBe(RULES.holdOffMs);
  });
  fc.assert(run);
});
