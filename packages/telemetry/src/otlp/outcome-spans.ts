import { SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { hrTimeToMilliseconds } from "@opentelemetry/core";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace";
import { isWorthKeeping } from "../tracing/outcome.ts";
import { UndecidedSpans } from "../tracing/undecided-spans.ts";

export interface OutcomeSpansOptions {
  /** Takes the spans that are exported. */
  readonly next: SpanProcessor;
  readonly slowMs: number;
  /** Called with a trace that a span of this process makes worth exporting. */
  readonly onKept: (traceId: string) => void;
}

/** Passes on what is sampled, and of the rest what its outcome makes worth exporting. */
export class OutcomeSpans implements SpanProcessor {
  readonly #options: OutcomeSpansOptions;
  readonly #undecided: UndecidedSpans<ReadableSpan>;

  constructor(options: OutcomeSpansOptions) {
    this.#options = options;
    this.#undecided = new UndecidedSpans({ onKept: (span) => options.next.onEnd(asSampled(span)) });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const { next, slowMs, onKept } = this.#options;
    const { traceId, traceFlags } = span.spanContext();
    if ((traceFlags & TraceFlags.SAMPLED) !== 0) return next.onEnd(span);
    this.#undecided.add(traceId, span);
    if (isWorthKeeping(toOutcome(span), slowMs) && this.#undecided.keep(traceId)) onKept(traceId);
  }

  /** Another process has found the trace worth exporting. */
  keep(traceId: string): void {
    this.#undecided.keep(traceId);
  }

  forceFlush(): Promise<void> {
    return this.#options.next.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#options.next.shutdown();
  }
}

function toOutcome({ status, attributes, events, startTime }: ReadableSpan) {
  const startMs = hrTimeToMilliseconds(startTime);
  return {
    hasFailed: status.code === SpanStatusCode.ERROR,
    attributes,
    events: events.map(({ name, time }) => ({ name, afterMs: hrTimeToMilliseconds(time) - startMs })),
  };
}

/** The SDK's batches leave out what was not sampled when it began. */
function asSampled(span: ReadableSpan): ReadableSpan {
  const context = { ...span.spanContext(), traceFlags: TraceFlags.SAMPLED };
  return Object.create(span, { spanContext: { value: () => context } }) as ReadableSpan;
}
