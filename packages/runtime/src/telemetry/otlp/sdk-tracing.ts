import {
  type Attributes,
  context as currentContext,
  diag,
  DiagLogLevel,
  isSpanContextValid,
  type Link,
  logs,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { setGlobalErrorHandler } from "@opentelemetry/core";
import { envDetector, serviceInstanceIdDetector } from "@opentelemetry/resources";
import { NodeSDK } from "@opentelemetry/sdk-node";
import { waitAtMost } from "@reprise/async";
import { HTTP } from "../conventions/conventions.ts";
import type { TraceContext } from "../tracing/traceparent.ts";
import type { SpanAttributes, SpanKind, SpanOptions, Tracing, TraceSpan } from "../tracing/tracing.ts";

export interface TracingOptions {
  /** `service.name` of its spans. */
  readonly service: string;
  /** Tells if spans of turns have what was asked and said. */
  readonly recordsContent: boolean;
  /** Called when the SDK refuses a setting or loses spans. */
  readonly onProblem: (message: string) => void;
}

/** A collector that hangs does not hold up the end of the process for longer. */
const CLOSE_MS = 2_000;
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
 * Starts OpenTelemetry's SDK, which reads its standard environment variables. `openTracing` alone loads this file, and only if a
 * collector is configured.
 */
export function startSdkTracing({ service, recordsContent, onProblem }: TracingOptions): Tracing {
  const ignore = () => undefined;
  const logger = { error: onProblem, warn: onProblem, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  // Only the message: other fields of the exporter's errors hold the collector's answer.
  const report = (error: { readonly message?: string } | string) =>
    onProblem(typeof error === "string" ? error : (error.message ?? "An export has failed."));
  setGlobalErrorHandler(report);
  const sdk = new NodeSDK({
    serviceName: service,
    // The others tell the command line and the owner of the process.
    resourceDetectors: [envDetector, serviceInstanceIdDetector],
    spanLimits: { attributeValueLengthLimit: recordsContent ? MAX_CONTENT_LENGTH : MAX_VALUE_LENGTH },
    // Metrics are prom-client's, logs are pino's, and `traceparent` is read and written by our own code.
    metricReaders: [],
    logRecordProcessors: [],
    textMapPropagator: null,
  });
  sdk.start();
  const tracer = trace.getTracer("reprise");
  return {
    isOn: true,
    recordsContent,
    start: (name, spanOptions) => new SdkSpan(startSpan(tracer, name, spanOptions)),
    async [Symbol.asyncDispose]() {
      await waitAtMost(CLOSE_MS, sdk.shutdown().catch(report));
      // Another tracing of this process may register its providers.
      for (const api of [trace, currentContext, logs]) api.disable();
    },
  };
}

function startSpan(tracer: Tracer, name: string, options: SpanOptions = {}): Span {
  const { kind = "internal", parent, links, attributes, startedAtMs } = options;
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent)) : ROOT_CONTEXT;
  return tracer.startSpan(
    name,
    {
      kind: KINDS[kind],
      ...(attributes && { attributes: defined(attributes) }),
      ...(links && { links: links.map((link): Link => ({ context: toSpanContext(link) })) }),
      ...(startedAtMs !== undefined && { startTime: startedAtMs }),
    },
    context,
  );
}

class SdkSpan implements TraceSpan {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  get context(): TraceContext | undefined {
    const context = this.#span.spanContext();
    // OTEL_SDK_DISABLED makes spans without ids.
    if (!isSpanContextValid(context)) return undefined;
    const { traceId, spanId, traceFlags } = context;
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
