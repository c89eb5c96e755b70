import type { AttemptRecord } from "@reprise/protocol";

/** Measures how an attempt's first output came from the engine into the log. */
export class AttemptTiming {
  readonly #onMeasured: (record: AttemptRecord) => void;
  #attempt: Pick<AttemptRecord, "attempt" | "model"> | undefined;
  #engineFirstMs: number | undefined;

  /** @param onMeasured called once for each attempt that has come so far */
  constructor(onMeasured: (record: AttemptRecord) => void) {
    this.#onMeasured = onMeasured;
  }

  /** Everything that was appended before is stored. */
  begun(attempt: Pick<AttemptRecord, "attempt" | "model">): void {
    this.#attempt = attempt;
    this.#engineFirstMs = undefined;
  }

  /** The engine has said something, so long after it was asked. */
  arrived(waitedMs: number): void {
    this.#engineFirstMs ??= waitedMs;
  }

  /** An event is stored, so long after it was appended: the first is that of the first output. */
  stored(appendMs: number): void {
    if (!this.#attempt || this.#engineFirstMs === undefined) return;
    const record = {
      kind: "attempt",
      at: new Date().toISOString(),
      ...this.#attempt,
      engine_first_ms: toMicros(this.#engineFirstMs),
      append_ms: toMicros(appendMs),
    } as const;
    this.#attempt = undefined;
    this.#onMeasured(record);
  }
}

/** In milliseconds, no finer than a microsecond. */
function toMicros(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
