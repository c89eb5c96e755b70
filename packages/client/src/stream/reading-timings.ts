import type { StreamEvent } from "../transcript/stream-event.ts";

/** Timings of one reading, over all its connections, in milliseconds: the body of the platform's call. */
export interface TimingsReport {
  /** From the first request to the head of its answer. */
  round_trip_ms?: number;
  /** From the first request to the first event, and to the first text. */
  first_event_ms?: number;
  first_text_ms?: number;
  /** Between two deltas. */
  longest_gap_ms?: number;
  reconnects: number;
}

/** Measures a reading. */
export class ReadingTimings {
  readonly #now: () => number;
  readonly #report: Omit<TimingsReport, "reconnects"> = {};
  #startMs: number | undefined;
  #deltaMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  requested(): void {
    this.#startMs ??= this.#now();
  }

  opened(): void {
    this.#report.round_trip_ms ??= this.#sinceStart();
  }

  read({ type }: StreamEvent): void {
    this.#report.first_event_ms ??= this.#sinceStart();
    if (!type.endsWith(".delta")) return;
    this.#report.first_text_ms ??= this.#sinceStart();
    const nowMs = this.#now();
    const gapMs = nowMs - (this.#deltaMs ?? nowMs);
    this.#report.longest_gap_ms = Math.max(this.#report.longest_gap_ms ?? 0, gapMs);
    this.#deltaMs = nowMs;
  }

  toReport(reconnects: number): TimingsReport {
    return { ...this.#report, reconnects };
  }

  #sinceStart(): number {
    return this.#now() - (this.#startMs ?? this.#now());
  }
}
