import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { waitAtMost } from "@reprise/async";
import { HTTP } from "../conventions/http.ts";
import type { TraceContext } from "../tracing/traceparent.ts";
import type { SpanAttributes, SpanKind, SpanOptions, Tracing, TraceSpan } from "../tracing/tracing.ts";
import { CollectorWatch } from "./collector-watch.ts";
import { FOREIGN_PARENT, HeadSampler } from "./head-sampler.ts";
import type { OtlpOptions } from "./otlp-options.ts";
import { CountedBatches } from "./counted-batches.ts";
import { OutcomeSpans } from "./outcome-spans.ts";

const MAX_QUEUED = 2_048;
const EXPORT_EVERY_MS = 1_000;
const TIMEOUT_MS = 5_000;
const CLOSE_MS = 2_000;
const SLOW_MS = 10_000;
const MAX_VALUE_LENGTH = 512;
const MAX_CONTENT_LENGTH = 16_384;

const KINDS: Readonly<Record<SpanKind, OtelKind>> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
};

/**
 * Tracing by OpenTelemetry's SDK, out by OTLP over HTTP with JSON. This file and what it imports is loaded by `openTracing` alone, and
 * only where tracing is on.
 */
export function createOtlpTracing(options: OtlpOptions): Tracing {
  const { url, service, instance, headers = {}, sample, recordsContent = false } = options;
  const {
    timeoutMs = TIMEOUT_MS,
    closeMs = CLOSE_MS,
    slowMs = SLOW_MS,
    sampleOfTenant = new Map(),
  } = options;
  const watch = new CollectorWatch(options);
  const exporter = new OTLPTraceExporter({
    url: `${url.replace(/\/+$/, "")}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
  });
  const batches = new CountedBatches({
    exporter,
    watch,
    maxQueued: MAX_QUEUED,
    everyMs: EXPORT_EVERY_MS,
    timeoutMs,
  });
  const listeners = new Set<(traceId: string) => void>();
  const spans = new OutcomeSpans({
    next: batches,
    slowMs,
    onKept(traceId) {
      for (const listener of listeners) listener(traceId);
    },
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service, "service.instance.id": instance }),
    sampler: new HeadSampler({ share: sample, ofTenant: sampleOfTenant }),
    spanLimits: { attributeValueLengthLimit: recordsContent ? MAX_CONTENT_LENGTH : MAX_VALUE_LENGTH },
    spanProcessors: [spans],
  });
  const tracer = provider.getTracer("reprise");
  return {
    isOn: true,
    recordsContent,
    start: (name, spanOptions) => new OtlpSpan(startSpan(tracer, name, spanOptions)),
    get counts() {
      return { exported: watch.exported, dropped: watch.dropped };
    },
    keep: (traceId) => spans.keep(traceId),
    onKept(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    // A collector that hangs does not hold up the end of the process.
    async [Symbol.asyncDispose]() {
      await waitAtMost(
        closeMs,
        provider.shutdown().catch(() => undefined),
      );
    },
  };
}

function startSpan(tracer: Tracer, name: string, options: SpanOptions = {}): Span {
  const { kind = "internal", parent, isForeign, links, attributes, startedAtMs } = options;
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent)) : ROOT_CONTEXT;
  return tracer.startSpan(
    name,
    {
      kind: KINDS[kind],
      ...(attributes && { attributes: defined(attributes) }),
      ...(links && { links: links.map((link): Link => ({ context: toSpanContext(link) })) }),
      ...(startedAtMs !== undefined && { startTime: startedAtMs }),
    },
    isForeign ? context.setValue(FOREIGN_PARENT, true) : context,
  );
}

class OtlpSpan implements TraceSpan {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 };
  }

  get isRecorded(): boolean {
    return this.#span.isRecording();
  }

  event(name: string, attributes?: SpanAttributes): void {
    if (this.#span.isRecording()) this.#span.addEvent(name, attributes && defined(attributes));
  }

  set(attributes: SpanAttributes): void {
    if (this.#span.isRecording()) this.#span.setAttributes(defined(attributes));
  }

  fail(code: string): void {
    if (!this.#span.isRecording()) return;
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.setAttribute(HTTP.errorType, code);
  }

  end(): void {
    if (this.#span.isRecording()) this.#span.end();
  }
}

function toSpanContext({ traceId, spanId, sampled }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

function defined(attributes: SpanAttributes): Attributes {
  const kept: Attributes = {};
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) kept[name] = typeof value === "object" ? [...value] : value;
  return kept;
}
