export interface UndecidedSpansOptions<Span> {
  /** Called with each span of a trace that is kept, also with those that had ended before that was known. */
  readonly onKept: (span: Span) => void;
  /** The most spans that wait for their trace's outcome; beyond, those of the oldest trace are let go. Default 16,384: some 16 MB. */
  readonly maxSpans?: number;
  /** The most spans of one kept trace that are exported in `waitMs`: whoever chooses the id of its traces may give all of them the same one. Default 1,024. */
  readonly maxKeptSpans?: number;
  /** How long a trace of which nothing ends waits, and is kept. Default 10 min. */
  readonly waitMs?: number;
  readonly now?: () => number;
}

interface Waiting<Span> {
  readonly spans: Span[];
  sinceMs: number;
}

interface Kept {
  /** How many spans may still be exported until `untilMs`. */
  left: number;
  untilMs: number;
  sinceMs: number;
}

const MAX_SPANS = 16_384;
/** A generation with tools and readers has some hundred. */
const MAX_KEPT_SPANS = 1_024;
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
  readonly #maxKeptSpans: number;
  /** The trace of which nothing has ended for longest is first. */
  readonly #kept = new Map<string, Kept>();
  #count = 0;

  constructor(options: UndecidedSpansOptions<Span>) {
    const { onKept, maxSpans = MAX_SPANS, maxKeptSpans = MAX_KEPT_SPANS } = options;
    const { waitMs = WAIT_MS, now = () => performance.now() } = options;
    this.#maxKeptSpans = maxKeptSpans;
    this.#onKept = onKept;
    this.#maxSpans = maxSpans;
    this.#waitMs = waitMs;
    this.#now = now;
  }

  /** A span has ended. */
  add(traceId: string, span: Span): void {
    const kept = this.#keptOf(traceId);
    if (kept) return this.#export(kept, [span]);
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
    if (this.#keptOf(traceId)) return false;
    const kept = { left: 0, untilMs: 0, sinceMs: this.#now() };
    this.#kept.set(traceId, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    const { spans = [] } = this.#waiting.get(traceId) ?? {};
    this.#forget(traceId);
    // The last ones: what has made the trace worth it is among them.
    this.#export(kept, spans.slice(-this.#maxKeptSpans));
    return true;
  }

  #keptOf(traceId: string): Kept | undefined {
    const kept = this.#kept.get(traceId);
    if (!kept) return undefined;
    this.#kept.delete(traceId);
    if (this.#now() - kept.sinceMs >= this.#waitMs) return undefined;
    kept.sinceMs = this.#now();
    this.#kept.set(traceId, kept);
    return kept;
  }

  #export(kept: Kept, spans: readonly Span[]): void {
    if (this.#now() >= kept.untilMs) {
      kept.left = this.#maxKeptSpans;
      kept.untilMs = this.#now() + this.#waitMs;
    }
    for (const span of spans.slice(0, kept.left)) this.#onKept(span);
    kept.left = Math.max(0, kept.left - spans.length);
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
