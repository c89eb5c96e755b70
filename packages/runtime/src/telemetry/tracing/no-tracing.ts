import type { Tracing, TraceSpan } from "./tracing.ts";

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
