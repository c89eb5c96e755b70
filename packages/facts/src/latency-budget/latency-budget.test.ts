import fc from "fast-check";
import { expect, test } from "vitest";
import { asSeq, encodeEvent } from "@reprise/protocol";
import { completed, createRef, requested, started } from "@reprise/testkit";
import { allottedShares, BUDGET_CLASSES, BUDGET_TERMS, type BudgetClass } from "./budget-class.ts";
import { GenerationFold } from "../fold/generation-fold.ts";
import { LatencyBudget } from "./latency-budget.ts";
import { toBudgetSample } from "./to-budget-sample.ts";

const CHAT = BUDGET_CLASSES["chat-responsive"];
const GOOD = { queue: 10_000, prefill: 200_000, broker: 2_000, delivery: 1_000, client: 40_000 };

function reportOf(samples: readonly object[], of: BudgetClass = CHAT) {
  const budget = new LatencyBudget(of);
  for (const sample of samples) budget.add(sample);
  return budget.toReport();
}

test("shares of a target add up to it", () => {
  const sums = [1, 8].map((tokens) =>
    Object.values(allottedShares({ tokens })).reduce((sum, share) => sum + share, 0),
  );
  expect(sums).toEqual([expect.closeTo(1, 9), expect.closeTo(1, 9)]);
});

test("where the target is met no term breaks it, though one is over its share", () => {
  const report = reportOf(Array.from({ length: 100 }, () => ({ ...GOOD, queue: 90_000 })));
  expect(report).toMatchObject({ targets: [{ quantile: 0.95, target_ms: 500, met: true }], breaks: null });
  expect(report.terms.find(({ term }) => term === "queue")?.over_ms).toBeGreaterThan(0);
});

test.each(BUDGET_TERMS)("names %s where it is what makes generations late", (term) => {
  const late = { ...GOOD, [term]: 600_000 };
  const report = reportOf(Array.from({ length: 100 }, (_, i) => (i % 5 === 0 ? late : GOOD)));
  expect(report).toMatchObject({ targets: [{ met: false }], breaks: term });
  expect(report.terms.find((one) => one.term === term)?.blamed).toBe(20);
});

test("voice has a target for the middle, too", () => {
  const slow = { queue: 0, prefill: 600_000 };
  expect(reportOf([slow], BUDGET_CLASSES.voice).targets).toMatchObject([
    { quantile: 0.95, target_ms: 800, met: true },
    { quantile: 0.5, target_ms: 500, met: false },
  ]);
});

test("what was not measured has no numbers, and without anything measured no target is judged", () => {
  expect(reportOf([])).toMatchObject({
    generations: 0,
    without_output: 0,
    targets: [{ measured_ms: null, met: null }],
    breaks: null,
  });
  const { terms } = reportOf([{ prefill: 5_000 }]);
  expect(terms.filter(({ measured }) => measured > 0).map(({ term }) => term)).toEqual(["prefill"]);
});

test("generations without output meet no target, are in no term, and are counted", () => {
  const failed = Array.from({ length: 96 }, () => ({ queue: 1_000 }));
  const slow = Array.from({ length: 4 }, () => ({ ...GOOD, prefill: 5_000_000 }));
  const report = reportOf([...failed, ...slow]);
  const ofSlow = reportOf(slow);
  expect(report).toEqual({ ...ofSlow, generations: 100, without_output: 96 });
  expect(report).toMatchObject({ targets: [{ met: false }], breaks: "prefill" });
  const waited = reportOf([{ queue: 600_000_000 }, GOOD]);
  expect(waited).toMatchObject({ without_output: 1, targets: [{ met: true }], breaks: null });
  expect(reportOf(failed)).toMatchObject({ without_output: 96, targets: [{ measured_ms: null, met: null }] });
});

test("the sum of each generation is measured, within a hundredth", () => {
  const times = fc.array(fc.record({ queue: fc.nat(1_000_000), prefill: fc.nat(1_000_000) }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(times, (samples) => {
      const sums = samples.map(({ queue, prefill }) => queue + prefill).toSorted((a, b) => a - b);
      const exact = (sums[Math.floor(0.95 * (sums.length - 1))] ?? 0) / 1_000;
      const [target] = reportOf(samples).targets;
      expect(Math.abs((target?.measured_ms ?? NaN) - exact)).toBeLessThanOrEqual(exact / 100 + 0.001);
    }),
  );
});

test("decoding is what the tokens after the first output take, as far as there are tokens", () => {
  const ref = createRef("acme");
  const fold = GenerationFold.begin(ref);
  for (const [i, draft] of [requested(ref), started(), completed()].entries())
    fold.feed(encodeEvent(asSeq(i), draft), i);
  const row = {
    ...fold.toRow(),
    queue_us: 0,
    prefill_us: 100_000,
    first_us: 100_000,
    first_tokens: 2,
    output_tokens: 12,
    total_us: 1_100_000,
  };
  const decodeTo = (tokens: number) => toBudgetSample(row, { tokens }).decode;
  expect([1, 2, 3, 8, 12, 40].map(decodeTo)).toEqual([0, 0, 100_000, 600_000, 1_000_000, 1_000_000]);
  expect(toBudgetSample({ ...row, first_us: null, prefill_us: null }, { tokens: 8 }).decode).toBeUndefined();
});
