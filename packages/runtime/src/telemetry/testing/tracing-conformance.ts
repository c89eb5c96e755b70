import { describe, expect, it } from "vitest";
import type { Tracing } from "../tracing/tracing.ts";
import type { RecordedSpan, RecordOptions } from "./recorded-spans.ts";

export interface TracingTarget extends AsyncDisposable {
  readonly tracing: Tracing;
  /** Ends tracing, and gives every span that was exported. */
  finish(): Promise<readonly RecordedSpan[]>;
}

const PARENT = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", sampled: true };

/** Describes the behaviour of every active tracing. */
export function describeTracing(
  kind: string,
  open: (options?: RecordOptions) => Promise<TracingTarget>,
): void {
  describe(`tracing: ${kind}`, () => {
    it("exports a span with what was said of it before its end", async () => {
      await using opened = await open();
      const span = opened.tracing.start("work", {
        kind: "consumer",
        attributes: { "a.text": "x", "a.number": 7, "a.flag": true, "a.nothing": undefined },
        links: [PARENT],
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
          links: [{ traceId: PARENT.traceId, spanId: PARENT.spanId }],
          attributes: { "a.text": "x", "a.number": 8, "a.flag": true },
          events: [{ name: "first", attributes: { "an.id": "e1" } }],
          error: undefined,
        },
      ]);
    });

    it("says of a span that has failed the code alone", async () => {
      await using opened = await open();
      const span = opened.tracing.start("work");
      span.fail("broker_unavailable");
      span.end();
      expect(await opened.finish()).toMatchObject([
        { error: "broker_unavailable", attributes: { "error.type": "broker_unavailable" }, kind: "internal" },
      ]);
    });

    it("puts a child into its parent's trace, and roots into traces of their own", async () => {
      await using opened = await open();
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

    it("obeys the decision that a parent was given", async () => {
      await using opened = await open();
      const unsampled = opened.tracing.start("unsampled", { parent: { ...PARENT, sampled: false } });
      unsampled.end();
      expect(unsampled.context).toMatchObject({ traceId: PARENT.traceId, sampled: false });
      opened.tracing.start("sampled", { parent: PARENT }).end();
      expect(await opened.finish()).toMatchObject([
        { name: "sampled", traceId: PARENT.traceId, parentSpanId: PARENT.spanId },
      ]);
    });

    it("exports nothing that is not sampled", async () => {
      await using opened = await open({ isSampled: false });
      const root = opened.tracing.start("root");
      expect(root.isRecorded).toBe(false);
      opened.tracing.start("child", { parent: root.context }).end();
      root.fail("internal");
      root.end();
      expect(await opened.finish()).toEqual([]);
    });
  });
}

function idsOf(context: { traceId: string; spanId: string } | undefined) {
  return { traceId: context?.traceId, spanId: context?.spanId };
}
