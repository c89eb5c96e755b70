import {
  type Cursor,
  type ErrorCode,
  type ModerationMode,
  RepriseError,
  REQUEST_SEQ,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import type { Metrics } from "@reprise/runtime";

export type ResumeResult = "resumed" | "ended" | "fallback" | "gone";
/** Which call a stream answers. */
export type StreamCall = "create" | "read";

/** Error codes for a reader that cannot resume from its cursor, through no fault of its own. */
const GONE: ReadonlySet<ErrorCode> = new Set([
  "cursor_expired",
  "events_lost",
  "generation_expired",
  "generation_erased",
]);

/** Metrics of the generations created here and of the streams of their readers. */
export class ReaderMetrics {
  readonly #metrics: Metrics;
  readonly #firstEvent: Readonly<Record<StreamCall, { observe(seconds: number): void }>>;

  readonly #delivered: Readonly<
    Record<Exclude<ModerationMode, "off"> | "none", (storedAtMs: UnixMs) => void>
  >;

  constructor(metrics: Metrics) {
    const delivered = (moderation: string) => {
      const observer = metrics.observer("reprise_stored_to_delivered_seconds", { moderation });
      return (storedAtMs: UnixMs) => observer.observe(Math.max(0, unixNow() - storedAtMs) / 1_000);
    };
    this.#delivered = {
      none: delivered("none"),
      observe: delivered("observe"),
      retract: delivered("retract"),
      gate: delivered("gate"),
    };
    this.#metrics = metrics;
    this.#firstEvent = {
      create: metrics.observer("reprise_first_event_seconds", { call: "create" }),
      read: metrics.observer("reprise_first_event_seconds", { call: "read" }),
    };
  }

  /** @param model one that is configured */
  created(model: string): void {
    this.#metrics.counter("reprise_generations_created_total").inc({ model });
  }

  /** A client has ended a generation. */
  cancelled(): void {
    const labels = { status: "cancelled", fault: "client" };
    this.#metrics.counter("reprise_generations_ended_total").inc(labels);
  }

  /** A reader's first output event was written. */
  firstEvent(call: StreamCall, sinceArrivalMs: number): void {
    this.#firstEvent[call].observe(sinceArrivalMs / 1_000);
  }

  /** Returns the observer of sampled events sent to readers of a generation with this mode of moderation. */
  deliveredOf(mode: ModerationMode | undefined): (storedAtMs: UnixMs) => void {
    return this.#delivered[mode === undefined || mode === "off" ? "none" : mode];
  }

  ended(reason: string): void {
    this.#metrics.counter("reprise_readers_ended_total").inc({ reason });
  }

  /** Counts a stream only if it was requested with a cursor. */
  resumed({ seq }: Pick<Cursor, "seq">, result: ResumeResult): void {
    if (seq > REQUEST_SEQ) this.#metrics.counter("reprise_resumes_total").inc({ result });
  }

  /** Counts the stream that an answer would have been, if that fails because what follows the cursor is gone. */
  async countGone<T>(cursor: Pick<Cursor, "seq">, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof RepriseError && GONE.has(error.code)) this.resumed(cursor, "gone");
      throw error;
    }
  }
}
