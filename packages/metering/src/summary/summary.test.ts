import fc from "fast-check";
import { expect, test } from "vitest";
import { RELATIVE_ERROR } from "../sketch/bucket.ts";
import { GenerationFold } from "../fold/generation-fold.ts";
import { history, type StoredBytes } from "../fold/history.fixture.ts";
import { recount } from "../fold/recount.fixture.ts";
import type { GenerationRow } from "../rows/generation-row.ts";
import type { Distribution } from "./distribution.ts";
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

test("sums and quantiles are those that a count of the raw events finds", () => {
  fc.assert(
    fc.property(fc.array(history, { maxLength: 20 }), (logs) => {
      const report = summaryOf(logs.map(rowOf)).toReport();
      const counted = logs.map((log) => recount(log));
      const sum = (of: (one: (typeof counted)[number]) => number | null) =>
        counted.reduce((all, one) => all + (of(one) ?? 0), 0);
      const longGaps = counted.flatMap(({ gaps }) => gaps.filter((gap) => gap > 2_000_000));
      expect(report).toMatchObject({
        generations: logs.length,
        completed: counted.filter(({ status }) => status === "completed").length,
        failed: counted.filter(({ status }) => status === "failed").length,
        cancelled: counted.filter(({ status }) => status === "cancelled").length,
        chunks: sum(({ chunks }) => chunks),
        attempts: sum(({ attempts }) => attempts),
        tool_calls: sum(({ tool_calls }) => tool_calls),
        tokens: {
          input: sum(({ input_tokens }) => input_tokens),
          output: sum(({ output_tokens }) => output_tokens),
          output_kept: sum(({ output_tokens_kept }) => output_tokens_kept),
          reasoning: sum(({ reasoning_tokens }) => reasoning_tokens),
        },
        stalls: { count: longGaps.length, total_ms: longGaps.reduce((all, gap) => all + gap, 0) / 1_000 },
      });
      const present = (of: (one: (typeof counted)[number]) => number | null) =>
        counted.flatMap((one) => of(one) ?? []);
      expectClose(
        report.latency_ms.queue,
        present(({ queue_us }) => queue_us),
      );
      expectClose(
        report.latency_ms.first_token,
        present(({ first_us }) => first_us),
      );
      expectClose(
        report.latency_ms.end_to_end,
        present(({ total_us }) => total_us),
      );
      expectClose(
        report.latency_ms.between_chunks,
        counted.flatMap(({ gaps }) => gaps),
      );
      const good = counted.filter(
        ({ status, first_us, total_us, gaps }) =>
          status === "completed" &&
          (first_us ?? total_us) <= 1_000_000 &&
          exactQuantile(
            gaps.toSorted((a, b) => a - b),
            0.99,
          ) <=
            2_000_000 * (1 - RELATIVE_ERROR),
      ).length;
      expect(report.goodput.met).toBeGreaterThanOrEqual(good);
      expect(report.goodput.of).toBe(report.completed + report.failed);
    }),
    { numRuns: 200 },
  );
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
      const { cost } = priced.toReport();
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
