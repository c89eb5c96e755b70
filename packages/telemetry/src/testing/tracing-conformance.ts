import { describe, expect, it } from "vitest";
import type { Tracing } from "../tracing/tracing.ts";
import type { RecordedSpan } from "./recorded-spans.ts";

export interface TracingTarget extends AsyncDisposable {
  readonly tracing: Tracing;
  /** Ends tracing, and gives every span that was exported. */
  finish(): Promise<readonly RecordedSpan[]>;
}

const FOREIGN = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", sampled: true };

/** What every tracing that is on does. */
export function describeTracing(name: string, open: (sample: number) => Promise<TracingTarget>): void {
  describe(`tracing: ${name}`, () => {
    it("exports a span with what was said of it before its end", async () => {
      await using target = await open(1);
      const span = target.tracing.start("work", {
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
      expect(await target.finish()).toEqual([
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
      await using target = await open(1);
      const span = target.tracing.start("work");
      span.fail("broker_unavailable");
      span.end();
      expect(await target.finish()).toMatchObject([
        { error: "broker_unavailable", attributes: { "error.type": "broker_unavailable" }, kind: "internal" },
      ]);
    });

    it("puts a child into its parent's trace, and roots into traces of their own", async () => {
      await using target = await open(1);
      const root = target.tracing.start("root");
      const child = target.tracing.start("child", { parent: root.context });
      const other = target.tracing.start("other");
      for (const span of [child, root, other]) span.end();
      const spans = await target.finish();
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

    it("obeys the decision that a parent of the platform's was given", async () => {
      await using all = await open(1);
      all.tracing.start("work", { parent: { ...FOREIGN, sampled: false } }).end();
      expect(await all.finish()).toEqual([]);

      await using none = await open(0);
      none.tracing.start("work", { parent: FOREIGN }).end();
      expect(await none.finish()).toMatchObject([{ traceId: FOREIGN.traceId }]);
    });
  });
}

function idsOf(context: { traceId: string; spanId: string } | undefined) {
  return { traceId: context?.traceId, spanId: context?.spanId };
}
