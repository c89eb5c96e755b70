import fc from "fast-check";
import { expect, test } from "vitest";
import { RELATIVE_ERROR } from "../sketch/bucket.ts";
import { GenerationFold } from "../fold/generation-fold.ts";
import { history, type StoredBytes } from "../fold/history.fixture.ts";
import { countBy, recount, recountDecodeUs } from "../fold/recount.fixture.ts";
import type { GenerationRow } from "../rows/generation-row.ts";
import type { Distribution } from "../sketch/distribution.ts";
import { GenerationSummary } from "./generation-summary.ts";
import { Groups } from "./groups.ts";
import { DEFAULT_TARGETS } from "./targets.ts";
import { UsageTotals } from "./usage-totals.ts";

const PRICE = { currency: "EUR", input: "0.15", cached_input: "0.075", output: "0.6" };

function rowOf(log: readonly StoredBytes[], i: number): GenerationRow {
  const fold = GenerationFold.begin({ tenant: "acme", generation: `gen_${i}` });
  for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs, ["plan"]);
  return fold.toRow();
}

function summaryOf(rows: readonly GenerationRow[]): GenerationSummary {
  const summary = new GenerationSummary(DEFAULT_TARGETS);
  for (const row of rows) summary.add(row);
  return summary;
}

const exactQuantile = (sorted: readonly number[], q: number) =>
  sorted[Math.floor(q * (sorted.length - 1))] ?? 0;

function expectClose(found: Distribution | null, values: readonly number[]): void {
  if (values.length === 0) return expect(found).toBeNull();
  const sorted = values.toSorted((a, b) => a - b);
  expect(found).toMatchObject({ count: values.length, min: (sorted[0] ?? 0) / 1_000 });
  for (const [name, q] of [
    ["p50", 0.5],
    ["p90", 0.9],
    ["p95", 0.95],
    ["p99", 0.99],
  ] as const) {
    const exact = exactQuantile(sorted, q) / 1_000;
    expect(Math.abs((found?.[name] ?? NaN) - exact)).toBeLessThanOrEqual(exact * RELATIVE_ERROR + 0.001);
  }
}

interface Counted extends ReturnType<typeof recount> {
  /** Time of each token after the first output, whose tokens came at once; undefined if there were none. */
  readonly perToken: { readonly us: number; readonly perSecond: number | undefined } | undefined;
}

function countedOf(log: readonly StoredBytes[]): Counted {
  const counted = recount(log);
  const decodeUs = recountDecodeUs(log);
  const tokens = counted.output_tokens - (counted.first_tokens ?? 0);
  if (decodeUs === undefined || tokens <= 0) return { ...counted, perToken: undefined };
  const perSecond = decodeUs === 0 ? undefined : Math.round((tokens * 1e9) / decodeUs);
  return { ...counted, perToken: { us: Math.round(decodeUs / tokens), perSecond } };
}

/** Returns the number of rows that meet the default targets if the quantile of gaps may be off by a share. */
function goodOf(counted: readonly Counted[], tolerance: number): number {
  return counted.filter(({ status, first_us, total_us, gaps }) => {
    const sorted = gaps.toSorted((a, b) => a - b);
    const isPrompt = (first_us ?? total_us) <= 1_000_000;
    return status === "completed" && isPrompt && exactQuantile(sorted, 0.99) <= 2_000_000 * (1 + tolerance);
  }).length;
}

test("sums and quantiles are those that a count of the raw events finds", () => {
  fc.assert(
    fc.property(fc.array(history, { maxLength: 20 }), (logs) => {
      const report = summaryOf(logs.map(rowOf)).toReport();
      const counted = logs.map(countedOf);
      const sum = (of: (one: Counted) => number | null) =>
        counted.reduce((all, one) => all + (of(one) ?? 0), 0);
      const times = (holds: (one: Counted) => boolean) => counted.filter(holds).length;
      const present = <T>(of: (one: Counted) => T | null | undefined) =>
        counted.map(of).filter((value) => value !== null && value !== undefined);
      const takeovers = counted.flatMap((one) =>
        Object.entries(one.takeovers).flatMap(([reason, count]) => Array<string>(count).fill(reason)),
      );
      const { latency_ms: latency, tokens_per_second: rate, moderation, delivery: _, ...rest } = report;
      const { retraction_ms: retraction, ...moderated } = moderation;
      const { completion, goodput, ...sums } = rest;
      expect(sums).toEqual({
        generations: logs.length,
        completed: times(({ status }) => status === "completed"),
        failed: times(({ status }) => status === "failed"),
        cancelled: times(({ status }) => status === "cancelled"),
        failures: countBy(present(({ code }) => code)),
        cancels: countBy(present(({ reason }) => reason)),
        finish_reasons: countBy(present(({ finish_reason }) => finish_reason)),
        tokens: {
          input: sum(({ input_tokens }) => input_tokens),
          cached_input: sum(({ cached_input_tokens }) => cached_input_tokens),
          output: sum(({ output_tokens }) => output_tokens),
          output_kept: sum(({ output_tokens_kept }) => output_tokens_kept),
          reasoning: sum(({ reasoning_tokens }) => reasoning_tokens),
        },
        attempts: sum(({ attempts }) => attempts),
        takeovers: countBy(takeovers),
        rewinds: sum(({ rewinds }) => rewinds),
        tool_calls: sum(({ tool_calls }) => tool_calls),
        events: sum(({ events }) => events),
        chunks: sum(({ chunks }) => chunks),
        stalls: {
          generations: times(({ stalls }) => stalls > 0),
          count: sum(({ stalls }) => stalls),
          total_ms: sum(({ stall_us }) => stall_us) / 1_000,
        },
        incomplete: times(({ clock_steps }) => clock_steps > 0),
      });
      expect(moderated).toEqual({
        moderated: times(({ moderation_mode }) => moderation_mode !== null),
        redactions: sum(({ redactions }) => redactions),
        halted: times(({ is_halted }) => is_halted),
        reviews: sum(({ reviews }) => reviews),
        unmoderated: times(({ was_unmoderated }) => was_unmoderated),
      });
      const distributions: readonly [Distribution | null, readonly number[]][] = [
        [retraction, present(({ retraction_us }) => retraction_us)],
        [latency.queue, present(({ queue_us }) => queue_us)],
        [latency.prefill, present(({ prefill_us }) => prefill_us)],
        [latency.first_token, present(({ first_us }) => first_us)],
        [latency.end_to_end, present(({ total_us }) => total_us)],
        [latency.tool_wait, present(({ tool_wait_us }) => tool_wait_us || null)],
        [latency.between_chunks, counted.flatMap(({ gaps }) => gaps)],
        [latency.per_output_token, present(({ perToken }) => perToken?.us)],
        [rate, present(({ perToken }) => perToken?.perSecond)],
      ];
      for (const [found, values] of distributions) expectClose(found, values);
      const judged = times(({ status }) => status !== "cancelled");
      expect(completion).toMatchObject({ met: report.completed, of: judged });
      expect(goodput.of).toBe(judged);
      expect(goodput.met).toBeGreaterThanOrEqual(goodOf(counted, -RELATIVE_ERROR));
      expect(goodput.met).toBeLessThanOrEqual(goodOf(counted, RELATIVE_ERROR));
    }),
    { numRuns: 200 },
  );
});

test("generated histories have each code, reason and finish reason, and each thing that moderation does", () => {
  const counted = fc.sample(history, { numRuns: 1_000, seed: 1 }).map(recount);
  const names = (of: (one: (typeof counted)[number]) => string | null) =>
    new Set(counted.map(of).filter((name) => name !== null)).size;
  expect(names(({ code }) => code)).toBe(4);
  expect(names(({ reason }) => reason)).toBe(4);
  expect(names(({ finish_reason }) => finish_reason)).toBe(4);
  const holding: ((one: (typeof counted)[number]) => boolean)[] = [
    (one) => one.is_halted,
    (one) => one.was_unmoderated,
    (one) => one.clock_steps > 0,
    (one) => (one.retraction_us ?? 0) > 0,
    (one) => Object.keys(one.takeovers).length > 1,
  ];
  for (const holds of holding) expect(counted.filter(holds).length).toBeGreaterThan(20);
});

test("parts that are merged, in whatever order, are the whole", () => {
  fc.assert(
    fc.property(fc.array(history, { maxLength: 12 }), fc.nat(), (logs, cut) => {
      const rows = logs.map(rowOf);
      const at = rows.length === 0 ? 0 : cut % rows.length;
      const parts = summaryOf(rows.slice(at).toReversed());
      parts.merge(summaryOf(rows.slice(0, at)));
      expect(parts.toReport()).toEqual(summaryOf(rows).toReport());
    }),
    { numRuns: 100 },
  );
});

test("costs are exact, and what has no price is counted and costs nothing", () => {
  fc.assert(
    fc.property(fc.array(history, { maxLength: 12 }), (logs) => {
      const rows = logs.map(rowOf);
      const [priced, free] = [new UsageTotals(() => PRICE), new UsageTotals(() => undefined)];
      for (const row of rows) for (const totals of [priced, free]) totals.add(row);
      const pico = rows.reduce((sum, row) => {
        const cached = Math.min(row.cached_input_tokens ?? 0, row.input_tokens ?? 0);
        const [input, output] = [(row.input_tokens ?? 0) - cached, row.output_tokens];
        return sum + BigInt(input) * 150_000n + BigInt(cached) * 75_000n + BigInt(output) * 600_000n;
      }, 0n);
      const { cost, estimated_input_tokens: estimated } = priced.toReport();
      expect(estimated).toBe(rows.reduce((sum, row) => sum + (row.estimated_input_tokens ?? 0), 0));
      const [whole = "0", decimals = ""] = (cost["EUR"] ?? "0").split(".");
      expect(BigInt(whole + decimals.padEnd(12, "0"))).toBe(pico);
      expect(free.toReport()).toMatchObject({ cost: {}, unpriced: rows.length });
    }),
    { numRuns: 100 },
  );
});

test("groups are bounded, and what is beyond them is in one that says how much", () => {
  const keys = fc.array(fc.nat({ max: 30 }), { maxLength: 200 });
  fc.assert(
    fc.property(
      keys,
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 20 }),
      (list, limit, kept) => {
        const sums: Sum[] = [];
        class Sum {
          total = 0;
          constructor() {
            sums.push(this);
          }
          add(value: number): void {
            this.total += value;
          }
          merge({ total }: Sum): void {
            this.total += total;
          }
        }
        const groups = new Groups<number, Sum>({
          keyOf: (value) => [`${value}`],
          create: () => new Sum(),
          mostKept: kept,
        });
        for (const value of list) groups.add(value);
        const found = groups.take(limit);
        expect(found.groups.length).toBeLessThanOrEqual(Math.min(limit, kept));
        expect(sums.length).toBeLessThanOrEqual(kept + 2);
        for (const { key, rows, sum } of found.groups) {
          expect(rows).toBe(list.filter((value) => `${value}` === key[0]).length);
          expect(sum.total).toBe(rows * Number(key[0]));
        }
        const rows = found.groups.reduce((sum, group) => sum + group.rows, found.other?.rows ?? 0);
        const total = found.groups.reduce((sum, group) => sum + group.sum.total, found.other?.sum.total ?? 0);
        expect([rows, total]).toEqual([list.length, list.reduce((sum, value) => sum + value, 0)]);
      },
    ),
  );
});
