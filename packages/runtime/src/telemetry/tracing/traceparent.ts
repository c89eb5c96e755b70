/** A span's place in a trace, as W3C Trace Context has it. */
export interface TraceContext {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
  /** True if the spans of the trace are exported. */
  readonly sampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** The most characters of such a header that are looked at: those of later versions may be longer. */
const MAX_LENGTH = 256;

/**
 * Undefined for what is malformed, which W3C Trace Context wants to be left out. A version that is not known is read as version 00, whose
 * fields all later ones begin with.
 */
export function parseTraceparent(text: string): TraceContext | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = FORM.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}
