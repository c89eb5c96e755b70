export interface UndecidedSpansOptions<Span> {
  /** Called with each span of a trace that is kept, also with those that had ended before that was known. */
  readonly onKept: (span: Span) => void;
  /** The most spans that wait for their trace's outcome; beyond, those of the oldest trace are let go. Default 16,384: some 16 MB. */
  readonly maxSpans?: number;
  /** How long a trace of which nothing ends waits. Default 10 min. */
  readonly waitMs?: number;
  readonly now?: () => number;
}

interface Waiting<Span> {
  readonly spans: Span[];
  sinceMs: number;
}

const MAX_SPANS = 16_384;
const WAIT_MS = 600_000;
/** Of traces whose later spans are exported, too. */
const MAX_KEPT = 16_384;

/**
 * The ended spans of traces that are not exported unless something becomes of them: an error, or a long time. They wait here, in bounded
 * memory, until one of the trace's spans, or another process, says so.
 */
export class UndecidedSpans<Span> {
  readonly #onKept: (span: Span) => void;
  readonly #maxSpans: number;
  readonly #waitMs: number;
  readonly #now: () => number;
  /** The trace of which nothing has ended for longest is first. */
  readonly #waiting = new Map<string, Waiting<Span>>();
  readonly #kept = new Set<string>();
  #count = 0;

  constructor(options: UndecidedSpansOptions<Span>) {
    const { onKept, maxSpans = MAX_SPANS, waitMs = WAIT_MS, now = () => performance.now() } = options;
    this.#onKept = onKept;
    this.#maxSpans = maxSpans;
    this.#waitMs = waitMs;
    this.#now = now;
  }

  /** A span has ended. */
  add(traceId: string, span: Span): void {
    if (this.#kept.has(traceId)) return this.#onKept(span);
    const waiting = this.#waiting.get(traceId) ?? { spans: [], sinceMs: 0 };
    waiting.sinceMs = this.#now();
    waiting.spans.push(span);
    this.#count++;
    this.#waiting.delete(traceId);
    this.#waiting.set(traceId, waiting);
    this.#letGo();
  }

  /** The trace is exported: what has ended of it now, and what ends later when it does. @returns false where that was known */
  keep(traceId: string): boolean {
    if (this.#kept.has(traceId)) return false;
    this.#kept.add(traceId);
    const [oldest] = this.#kept;
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    const { spans = [] } = this.#waiting.get(traceId) ?? {};
    this.#forget(traceId);
    for (const span of spans) this.#onKept(span);
    return true;
  }

  #letGo(): void {
    for (const [traceId, { sinceMs }] of this.#waiting) {
      if (this.#count <= this.#maxSpans && this.#now() - sinceMs < this.#waitMs) return;
      this.#forget(traceId);
    }
  }

  #forget(traceId: string): void {
    this.#count -= this.#waiting.get(traceId)?.spans.length ?? 0;
    this.#waiting.delete(traceId);
  }
}
