import { randomBytes } from "node:crypto";
import { isSampled } from "../tracing/sampling.ts";
import type { SpanAttributes, SpanKind, SpanOptions, Tracing, TraceSpan } from "../tracing/tracing.ts";
import type { TraceContext } from "../tracing/traceparent.ts";

/** A span that has ended and is exported. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly links: readonly Pick<TraceContext, "traceId" | "spanId">[];
  readonly attributes: SpanAttributes;
  readonly events: readonly { readonly name: string; readonly attributes: SpanAttributes }[];
  /** Of a failure. */
  readonly error: string | undefined;
}

/** Tracing that keeps its spans in memory, for tests. */
export function recordSpans({ sample = 1 }: { sample?: number } = {}): Tracing & {
  readonly spans: readonly RecordedSpan[];
} {
  const spans: RecordedSpan[] = [];
  const start = (name: string, options: SpanOptions = {}): TraceSpan => {
    const { kind = "internal", parent, isForeign = false, links = [], attributes = {} } = options;
    const traceId = parent?.traceId ?? randomBytes(16).toString("hex");
    const sampled = parent && !isForeign ? parent.sampled : isSampled(traceId, sample);
    const context = { traceId, spanId: randomBytes(8).toString("hex"), sampled };
    const kept = { ...attributes };
    const events: RecordedSpan["events"][number][] = [];
    let error: string | undefined;
    let isOver = false;
    const unlessOver = (change: () => void) => {
      if (!isOver) change();
    };
    return {
      context,
      event: (event, of = {}) => unlessOver(() => events.push({ name: event, attributes: defined(of) })),
      set: (more) => unlessOver(() => Object.assign(kept, more)),
      fail: (code) => unlessOver(() => (error = code)),
      end: () =>
        unlessOver(() => {
          isOver = true;
          if (!sampled) return;
          spans.push({
            name,
            kind,
            traceId,
            spanId: context.spanId,
            parentSpanId: parent?.spanId,
            links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
            attributes: defined({ ...kept, ...(error !== undefined && { "error.type": error }) }),
            events,
            error,
          });
        }),
    };
  };
  return {
    isOn: true,
    spans,
    start,
    get counts() {
      return { exported: spans.length, dropped: 0 };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function defined(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
