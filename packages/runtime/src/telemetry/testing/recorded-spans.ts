import { randomBytes } from "node:crypto";
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
  /** Type of the error of a failed span. */
  readonly error: string | undefined;
}

export interface RecordOptions {
  /** True if traces that begin here are sampled. Default: true. */
  readonly isSampled?: boolean;
  readonly recordsContent?: boolean;
}

/** Tracing that keeps its spans in memory, for tests. It samples as `parentbased_always_on` and `parentbased_always_off` do. */
export function recordSpans({ isSampled = true, recordsContent = false }: RecordOptions = {}): Tracing & {
  readonly spans: readonly RecordedSpan[];
} {
  const spans: RecordedSpan[] = [];
  const start = (name: string, options: SpanOptions = {}): TraceSpan => {
    const { kind = "internal", parent, links = [], attributes = {} } = options;
    const traceId = parent?.traceId ?? randomBytes(16).toString("hex");
    const sampled = parent?.sampled ?? isSampled;
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
      get isRecorded() {
        return sampled && !isOver;
      },
      event: (event, of = {}) => unlessOver(() => void events.push({ name: event, attributes: defined(of) })),
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
    recordsContent,
    spans,
    start,
    [Symbol.asyncDispose]: async () => {},
  };
}

function defined(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
