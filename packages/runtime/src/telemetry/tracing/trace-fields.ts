import { parseTraceparent } from "./traceparent.ts";
import type { TraceSpan } from "./tracing.ts";

/** Returns the log fields of a span: none if tracing is off. */
export function traceFields({ context }: Pick<TraceSpan, "context">): {
  readonly trace_id?: string;
  readonly span_id?: string;
} {
  return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
}

/** Returns the log fields of a generation's trace, by the `traceparent` of its seq 0. */
export function traceIdFields(traceparent: string | undefined): { readonly trace_id?: string } {
  const context = parseTraceparent(traceparent ?? "");
  return context ? { trace_id: context.traceId } : {};
}
