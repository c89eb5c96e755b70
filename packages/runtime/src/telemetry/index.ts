export {
  GEN_AI,
  GEN_AI_METRIC,
  GEN_AI_OPERATION,
  HTTP,
  REPRISE,
  SERVER,
  JOB_SPAN,
  LOG_SPAN,
  MESSAGING,
} from "./conventions/conventions.ts";
export { openTracing } from "./otlp/open-tracing.ts";
export {
  inSpan,
  NO_SPAN,
  NO_TRACING,
  type SpanAttributes,
  type SpanKind,
  type SpanOptions,
  type Tracing,
  type TraceSpan,
  traceFields,
  traceIdFields,
} from "./tracing/tracing.ts";
export { formatTraceparent, parseTraceparent, type TraceContext } from "./tracing/traceparent.ts";
