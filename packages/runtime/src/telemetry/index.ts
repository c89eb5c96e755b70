export { GEN_AI, GEN_AI_METRIC, GEN_AI_OPERATION } from "./conventions/gen-ai.ts";
export { HTTP, REPRISE, SERVER } from "./conventions/http.ts";
export { JOB_SPAN, LOG_SPAN, MESSAGING } from "./conventions/messaging.ts";
export { openTracing } from "./otlp/open-tracing.ts";
export { inSpan } from "./tracing/in-span.ts";
export { NO_SPAN, NO_TRACING } from "./tracing/no-tracing.ts";
export { traceFields, traceIdFields } from "./tracing/trace-fields.ts";
export { formatTraceparent, parseTraceparent, type TraceContext } from "./tracing/traceparent.ts";
export type { SpanAttributes, SpanKind, SpanOptions, Tracing, TraceSpan } from "./tracing/tracing.ts";
