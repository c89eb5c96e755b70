import { toRepriseError } from "@reprise/protocol";
import { type TraceContext, parseTraceparent } from "./traceparent.ts";

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** Undefined values are left out. Values are ids, names, counts and codes, never text of a prompt or an output, unless `Tracing.recordsContent` is true. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface SpanOptions {
  /** Default: `internal`. */
  readonly kind?: SpanKind;
  /** Default: the span begins a trace. */
  readonly parent?: TraceContext | undefined;
  /** Other spans that this one comes from. */
  readonly links?: readonly TraceContext[];
  readonly attributes?: SpanAttributes;
  /** In wall-clock milliseconds. Default: now. */
  readonly startedAtMs?: number;
}

/** Work of one process, from `start` to `end`. What is recorded after its end is dropped. */
export interface TraceSpan {
  /** The context by which other processes name it; undefined if tracing is off. */
  readonly context: TraceContext | undefined;
  /** Tells if it is sampled and has not ended. */
  readonly isRecorded: boolean;
  event(name: string, attributes?: SpanAttributes): void;
  set(attributes: SpanAttributes): void;
  /** The work has failed: `code` is one of the catalogue's, never a message. */
  fail(code: string): void;
  end(): void;
}

/**
 * Makes spans. They are handed on as values: there is no current one, so that no callback pays for tracing that does not use it.
 * Nothing here throws or waits.
 */
export interface Tracing extends AsyncDisposable {
  readonly isOn: boolean;
  start(name: string, options?: SpanOptions): TraceSpan;
  /** True if spans of turns have the prompt and the output. */
  readonly recordsContent: boolean;
}

/** The span of a process that does not trace. */
export const NO_SPAN: TraceSpan = Object.freeze({
  context: undefined,
  isRecorded: false,
  event() {},
  set() {},
  fail() {},
  end() {},
});

/** Tracing that is off: each call gives the same object, and nothing is allocated. */
export const NO_TRACING: Tracing = Object.freeze({
  isOn: false,
  start: () => NO_SPAN,
  recordsContent: false,
  [Symbol.asyncDispose]: async () => {},
});

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

/** Ends the span with the work, and marks it as failed with the code of what the work throws. */
export async function inSpan<T>(span: TraceSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.fail(toRepriseError(error).code);
    throw error;
  } finally {
    span.end();
  }
}
