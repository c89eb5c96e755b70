import { describe, expect, it } from "vitest";
import type { Tracing } from "../tracing/tracing.ts";
import type { RecordedSpan, RecordOptions } from "./recorded-spans.ts";

export interface TracingTarget extends AsyncDisposable {
  readonly tracing: Tracing;
  /** Ends tracing, and gives every span that was exported. */
  finish(): Promise<readonly RecordedSpan[]>;
}

const FOREIGN = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", sampled: true };

/** What every tracing that is on does. */
export function describeTracing(
  kind: string,
  open: (sample: number, options?: Omit<RecordOptions, "sample">) => Promise<TracingTarget>,
): void {
  describe(`tracing: ${kind}`, () => {
    it("exports a span with what was said of it before its end", async () => {
      await using opened = await open(1);
      const span = opened.tracing.start("work", {
        kind: "consumer",
        attributes: { "a.text": "x", "a.number": 7, "a.flag": true, "a.nothing": undefined },
        links: [FOREIGN],
      });
      span.event("first", { "an.id": "e1", "no.id": undefined });
      span.set({ "a.number": 8, "later.nothing": undefined });
      span.end();
      span.event("late");
      span.set({ "a.number": 9 });
      span.fail("late");
      span.end();
      expect(await opened.finish()).toEqual([
        {
          name: "work",
          kind: "consumer",
          ...idsOf(span.context),
          parentSpanId: undefined,
          links: [{ traceId: FOREIGN.traceId, spanId: FOREIGN.spanId }],
          attributes: { "a.text": "x", "a.number": 8, "a.flag": true },
          events: [{ name: "first", attributes: { "an.id": "e1" } }],
          error: undefined,
        },
      ]);
    });

    it("says of a span that has failed the code alone", async () => {
      await using opened = await open(1);
      const span = opened.tracing.start("work");
      span.fail("broker_unavailable");
      span.end();
      expect(await opened.finish()).toMatchObject([
        { error: "broker_unavailable", attributes: { "error.type": "broker_unavailable" }, kind: "internal" },
      ]);
    });

    it("puts a child into its parent's trace, and roots into traces of their own", async () => {
      await using opened = await open(1);
      const root = opened.tracing.start("root");
      const child = opened.tracing.start("child", { parent: root.context });
      const other = opened.tracing.start("other");
      for (const span of [child, root, other]) span.end();
      const spans = await opened.finish();
      const find = (named: string) => spans.find((span) => span.name === named);
      expect(find("child")).toMatchObject({
        traceId: root.context?.traceId,
        parentSpanId: root.context?.spanId,
      });
      expect(find("other")?.traceId).not.toBe(root.context?.traceId);
    });

    it("joins another party's trace by its own sampling", async () => {
      await using none = await open(0);
      const unsampled = none.tracing.start("work", { parent: FOREIGN, isForeign: true });
      unsampled.end();
      expect(unsampled.context).toMatchObject({ traceId: FOREIGN.traceId, sampled: false });
      expect(await none.finish()).toEqual([]);

      await using all = await open(1);
      all.tracing.start("work", { parent: { ...FOREIGN, sampled: false }, isForeign: true }).end();
      expect(await all.finish()).toMatchObject([{ traceId: FOREIGN.traceId, parentSpanId: FOREIGN.spanId }]);
    });

    it("lets no other party choose what is exported, neither by its trace's id nor by its flag", async () => {
      for (const digit of ["1", "f"])
        for (const sampled of [true, false]) {
          await using opened = await open(0.5);
          const parent = { ...FOREIGN, traceId: digit.repeat(32), sampled };
          for (let request = 0; request < 200; request++) {
            const span = opened.tracing.start("request", { parent, isForeign: true });
            opened.tracing.start("work", { parent: span.context }).end();
            span.end();
          }
          // 50 is 7 standard deviations from the middle.
          const spans = await opened.finish();
          expect(spans.length / 2).toBeGreaterThan(50);
          expect(spans.length / 2).toBeLessThan(150);
          const requests = new Set(spans.flatMap(({ name, spanId }) => (name === "request" ? [spanId] : [])));
          const whole = spans.filter(
            ({ name, parentSpanId }) => name === "work" && requests.has(`${parentSpanId}`),
          );
          expect(whole).toHaveLength(requests.size);
        }
    });

    it("obeys the decision that a parent of the platform's was given", async () => {
      await using all = await open(1);
      all.tracing.start("work", { parent: { ...FOREIGN, sampled: false } }).end();
      expect(await all.finish()).toEqual([]);

      await using none = await open(0);
      none.tracing.start("work", { parent: FOREIGN }).end();
      expect(await none.finish()).toMatchObject([{ traceId: FOREIGN.traceId }]);
    });

    it("exports a trace that is not sampled whole, once one of its spans has failed", async () => {
      await using opened = await open(0);
      const { tracing } = opened;
      const told: string[] = [];
      tracing.onKept((traceId) => told.push(traceId));
      const [bad, good] = [tracing.start("bad"), tracing.start("good")];
      tracing.start("before", { parent: bad.context }).end();
      const child = tracing.start("failed", { parent: bad.context });
      child.fail("internal");
      for (const span of [good, child, bad]) span.end();
      tracing.start("behind", { parent: bad.context }).end();
      const spans = await opened.finish();
      expect(spans.map(({ name }) => name).toSorted()).toEqual(["bad", "before", "behind", "failed"]);
      expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([bad.context?.traceId]));
      expect(told).toEqual([bad.context?.traceId]);
    });

    it("exports a trace that has waited too long, for a worker, an answer or the first of what it asked for, or in mid-stream", async () => {
      await using opened = await open(0, { slowMs: 5_000 });
      const { tracing } = opened;
      tracing.start("queued", { attributes: { "reprise.queue_wait_ms": 5_001 } }).end();
      tracing.start("in time", { attributes: { "reprise.queue_wait_ms": 5_000 } }).end();
      tracing.start("answered late", { attributes: { "reprise.answer_ms": 5_001 } }).end();
      tracing.start("answered in time", { attributes: { "reprise.answer_ms": 5_000 } }).end();
      tracing.start("stalled", { attributes: { "reprise.longest_wait_ms": 2_001 } }).end();
      tracing.start("flowing", { attributes: { "reprise.longest_wait_ms": 2_000 } }).end();
      const prompt = tracing.start("prompt");
      prompt.event("first_token");
      prompt.end();
      expect((await opened.finish()).map(({ name }) => name)).toEqual(["queued", "answered late", "stalled"]);
    });

    it("exports what it has of a trace that another process has found worth that", async () => {
      await using opened = await open(0);
      const { tracing } = opened;
      const told: string[] = [];
      tracing.onKept((traceId) => told.push(traceId));
      const span = tracing.start("work");
      tracing.start("other").end();
      span.end();
      tracing.keep(span.context?.traceId ?? "");
      expect((await opened.finish()).map(({ name }) => name)).toEqual(["work"]);
      expect(told).toEqual([]);
    });

    it("takes the share of the tenant that a trace begins with", async () => {
      await using opened = await open(0, { sampleOfTenant: new Map([["acme", 1]]) });
      const root = opened.tracing.start("acme's", { attributes: { "reprise.tenant": "acme" } });
      opened.tracing.start("beta's", { attributes: { "reprise.tenant": "beta" } }).end();
      opened.tracing.start("child", { parent: root.context, attributes: { "reprise.tenant": "beta" } }).end();
      root.end();
      expect((await opened.finish()).map(({ name }) => name)).toEqual(["child", "acme's"]);
    });
  });
}

function idsOf(context: { traceId: string; spanId: string } | undefined) {
  return { traceId: context?.traceId, spanId: context?.spanId };
}
