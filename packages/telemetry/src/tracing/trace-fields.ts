import type { TraceSpan } from "./tracing.ts";

/** What a log line says of the span that it belongs to: nothing where tracing is off. */
export function traceFields({ context }: Pick<TraceSpan, "context">): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
}
