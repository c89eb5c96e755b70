import fc from "fast-check";
import { expect, test } from "vitest";
import type { GenerationDelivery } from "../deliveries/generation-delivery.ts";
import { GenerationFold } from "../fold/generation-fold.ts";
import { history } from "../fold/history.fixture.ts";
import { toBudgetSample } from "../latency-budget/to-budget-sample.ts";
import { toGenerationReport } from "../rows/generation-report.ts";
import type { DeliveredRow } from "../rows/generation-row.ts";
import { toBase64 } from "../base64.ts";
import { encodeSketch } from "../sketch/sketch-codec.ts";
import { Sketch } from "../sketch/sketch.ts";
import { DeliverySummary } from "./delivery-summary.ts";

const us = fc.option(fc.nat(2_000_000), { nil: null });
const count = fc.nat(9);
const gaps = fc.array(fc.nat(3_000_000), { minLength: 1, maxLength: 20 });

interface Measured {
  readonly row: DeliveredRow;
  readonly gaps: readonly number[];
}

const delivery: fc.Arbitrary<{ delivery: GenerationDelivery; gaps: readonly number[] }> = fc
  .record({
    streams: count,
    answers: count,
    resumes: count,
    disconnects: count,
    finished: count,
    events: fc.nat(1_000),
    replayed: fc.nat(1_000),
    way: fc.option(
      fc.record({ received_us: fc.nat(9_999), held_us: fc.nat(9_999), sent_us: fc.nat(9_999) }),
      {
        nil: { received_us: null, held_us: null, sent_us: null },
      },
    ),
    lists: fc.array(gaps, { maxLength: 3 }),
    engine_first_us: us,
    append_us: us,
    round_trip_us: us,
    first_text_us: us,
    longest_gap_us: us,
    reconnects: fc.option(count, { nil: null }),
  })
  .map(({ lists, way, ...sums }) => ({
    delivery: { ...sums, ...way, gaps: lists.length === 0 ? null : lists.map(sketchOf) },
    gaps: lists.flat(),
  }));

const measured: fc.Arbitrary<Measured> = fc
  .tuple(history, fc.option(delivery, { nil: undefined }), fc.constantFrom(null, "gate"))
  .map(([log, found, mode]) => {
    const fold = GenerationFold.begin({ tenant: "acme", generation: "gen" });
    for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs);
    const row = { ...fold.toRow(), moderation_mode: mode };
    return { row: { ...row, delivery: found?.delivery }, gaps: found?.gaps ?? [] };
  });

function sketchOf(values: readonly number[]): string {
  const sketch = new Sketch();
  for (const value of values) sketch.add(value);
  return toBase64(encodeSketch(sketch));
}

function summaryOf(rows: readonly DeliveredRow[]): DeliverySummary {
  const summary = new DeliverySummary();
  for (const row of rows) summary.add(row);
  return summary;
}

test("counts and sums are those of the rows, and unmeasured values are in none", () => {
  fc.assert(
    fc.property(fc.array(measured, { maxLength: 20 }), (all) => {
      const report = summaryOf(all.map(({ row }) => row)).toReport();
      const found = all.flatMap(({ row }) => row.delivery ?? []);
      const sum = (of: (one: GenerationDelivery) => number) =>
        found.reduce((total, one) => total + of(one), 0);
      const howMany = (is: (one: GenerationDelivery) => boolean) => found.filter(is).length;
      expect(report).toMatchObject({
        streamed: howMany(({ streams }) => streams > 0),
        answered: howMany(({ streams, answers }) => streams === 0 && answers > 0),
        unread: all.length - howMany(({ streams, answers }) => streams + answers > 0),
        resumed: howMany(({ resumes }) => resumes > 0),
        abandoned: howMany(({ disconnects, finished }) => disconnects > 0 && finished === 0),
        streams: sum(({ streams }) => streams),
        disconnects: sum(({ disconnects }) => disconnects),
        replayed_events: sum(({ replayed }) => replayed),
        client: { reconnects: sum(({ reconnects }) => reconnects ?? 0) },
      });
      const gapsOfAll = all.flatMap((one) => one.gaps);
      expect(report.between_chunks_ms?.count ?? 0).toBe(gapsOfAll.length);
      expect(report.between_chunks_ms?.max ?? 0).toBe(Math.max(0, ...gapsOfAll) / 1_000);
      const held = all.filter(
        ({ row }) => row.moderation_mode !== null && (row.delivery?.held_us ?? null) !== null,
      );
      expect(report.held_ms?.count ?? 0).toBe(held.length);
    }),
  );
});

test("parts that are merged, in whatever order, are the whole", () => {
  fc.assert(
    fc.property(fc.array(measured, { maxLength: 12 }), fc.nat(12), (all, cut) => {
      const rows = all.map(({ row }) => row);
      const parts = summaryOf(rows.slice(cut).toReversed());
      parts.merge(summaryOf(rows.slice(0, cut)));
      expect(parts.toReport()).toEqual(summaryOf(rows).toReport());
    }),
  );
});

test("the terms of the latency budget add up to the way from the request to the reader, and the client's", () => {
  fc.assert(
    fc.property(measured, ({ row }) => {
      const {
        queue = 0,
        prefill = 0,
        broker = 0,
        moderation = 0,
        delivery: sent = 0,
        client,
      } = toBudgetSample(row, { tokens: 1 });
      const { received_us: received, held_us: held, sent_us: handed, round_trip_us } = row.delivery ?? {};
      const later = (received ?? 0) + (row.moderation_mode === null ? 0 : (held ?? 0)) + (handed ?? 0);
      const stored = (row.queue_us ?? 0) + (row.prefill_us ?? 0);
      expect(queue + prefill + broker + moderation + sent).toBe(stored + later);
      expect(client).toBe(round_trip_us ?? undefined);
    }),
  );
});

test("a generation's report has the first chunk as its first reader got it, where one was there", () => {
  fc.assert(
    fc.property(measured, ({ row }) => {
      const { delivery: one } = toGenerationReport(row, undefined);
      const { delivery: sums } = row;
      expect(one === null).toBe(sums === undefined);
      const { received_us: received = null, held_us: held = null, sent_us: sent = null } = sums ?? {};
      const isKnown = row.first_us !== null && received !== null && held !== null && sent !== null;
      const expected = isKnown ? ((row.first_us ?? 0) + received + held + sent) / 1_000 : null;
      expect(one?.first_chunk_ms ?? null).toBe(expected);
    }),
  );
});
