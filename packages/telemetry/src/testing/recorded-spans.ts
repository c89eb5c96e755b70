import { randomBytes } from "node:crypto";
import { isWorthKeeping } from "../tracing/outcome.ts";
import { decideSampling, shareOf } from "../tracing/sampling.ts";
import { UndecidedSpans } from "../tracing/undecided-spans.ts";
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

export interface RecordOptions {
  readonly sample?: number;
  readonly sampleOfTenant?: ReadonlyMap<string, number>;
  readonly slowMs?: number;
  readonly recordsContent?: boolean;
}

/** Tracing that keeps its spans in memory, for tests. */
export function recordSpans({
  sample = 1,
  sampleOfTenant = new Map(),
  slowMs = 0,
  recordsContent = false,
}: RecordOptions = {}): Tracing & {
  readonly spans: readonly RecordedSpan[];
} {
  const spans: RecordedSpan[] = [];
  const undecided = new UndecidedSpans<RecordedSpan>({ onKept: (span) => spans.push(span) });
  const listeners = new Set<(traceId: string) => void>();
  const start = (name: string, options: SpanOptions = {}): TraceSpan => {
    const { kind = "internal", parent, isForeign = false, links = [], attributes = {} } = options;
    const traceId = parent?.traceId ?? randomBytes(16).toString("hex");
    const sampled = decideSampling(traceId, {
      parent: parent && { sampled: parent.sampled, isForeign },
      share: shareOf({ share: sample, ofTenant: sampleOfTenant }, attributes),
    });
    const startMs = performance.now();
    const context = { traceId, spanId: randomBytes(8).toString("hex"), sampled };
    const kept = { ...attributes };
    const events: RecordedSpan["events"][number][] = [];
    const afterMs: number[] = [];
    let error: string | undefined;
    let isOver = false;
    const unlessOver = (change: () => void) => {
      if (!isOver) change();
    };
    return {
      context,
      get isRecorded() {
        return !isOver;
      },
      event: (event, of = {}) =>
        unlessOver(() => {
          events.push({ name: event, attributes: defined(of) });
          afterMs.push(performance.now() - startMs);
        }),
      set: (more) => unlessOver(() => Object.assign(kept, more)),
      fail: (code) => unlessOver(() => (error = code)),
      end: () =>
        unlessOver(() => {
          isOver = true;
          const span: RecordedSpan = {
            name,
            kind,
            traceId,
            spanId: context.spanId,
            parentSpanId: parent?.spanId,
            links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
            attributes: defined({ ...kept, ...(error !== undefined && { "error.type": error }) }),
            events,
            error,
          };
          if (sampled) return void spans.push(span);
          undecided.add(traceId, span);
          const timed = events.map((one, i) => ({ name: one.name, afterMs: afterMs[i] ?? 0 }));
          const outcome = { hasFailed: error !== undefined, attributes: span.attributes, events: timed };
          if (isWorthKeeping(outcome, slowMs) && undecided.keep(traceId))
            for (const listener of listeners) listener(traceId);
        }),
    };
  };
  return {
    isOn: true,
    recordsContent,
    spans,
    start,
    keep: (traceId) => void undecided.keep(traceId),
    onKept(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    get counts() {
      return { exported: spans.length, dropped: 0 };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function defined(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
