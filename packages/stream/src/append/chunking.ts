import type { EffectivePolicy } from "@reprise/protocol";

/** Longest hold of a delta under pressure. */
const MAX_HOLD_MS = 40;
/** An append that takes this much longer than the fastest one is no sign of pressure. */
const TOLERATED_MS = 4;
/** Milliseconds of hold for each millisecond above that. */
const GAIN = 10;
/** The mean covers about this time; a longer silence ends the pressure. */
const MEMORY_MS = 1_000;
/** Largest weight of one append in the mean. */
const MAX_WEIGHT = 1 / 32;
/** An append counts for no more than this: one election is no pressure. */
const MAX_SAMPLE_MS = 100;
/** The fastest append is that of the current and the previous window. */
const WINDOW_MS = 30_000;

/** Decides how long a generation's deltas wait to be stored as one event. */
export interface Chunking {
  /** Milliseconds from the first delta on. 0: deltas are stored at once. */
  readonly holdMs: number;
  /** A draft with this many tokens goes out. */
  readonly maxTokens: number;
  /** Reports how long a publish took until the broker had stored it. */
  stored(ms: number): void;
}

/**
 * The pressure on one process's appends. Below saturation an append takes about as long as the fastest one. When the broker or the event loop
 * is late, the mean rises above it, and deltas are held in proportion: fewer and larger events relieve every process that an event passes.
 */
export class AppendPressure implements Chunking {
  holdMs = 0;
  readonly maxTokens = Number.POSITIVE_INFINITY;
  #meanMs = 0;
  #fastestMs = Number.POSITIVE_INFINITY;
  #fastestBeforeMs = Number.POSITIVE_INFINITY;
  #windowEndsMs = 0;
  #storedAtMs = Number.NEGATIVE_INFINITY;

  stored(ms: number, nowMs = performance.now()): void {
    if (nowMs >= this.#windowEndsMs) {
      this.#windowEndsMs = nowMs + WINDOW_MS;
      this.#fastestBeforeMs = this.#fastestMs;
      this.#fastestMs = ms;
    } else if (ms < this.#fastestMs) this.#fastestMs = ms;
    const fastestMs = Math.min(this.#fastestMs, this.#fastestBeforeMs);
    const gapMs = nowMs - this.#storedAtMs;
    this.#storedAtMs = nowMs;
    if (gapMs > MEMORY_MS) this.#meanMs = fastestMs;
    this.#meanMs += (Math.min(ms, MAX_SAMPLE_MS) - this.#meanMs) * Math.min(gapMs / MEMORY_MS, MAX_WEIGHT);
    const lateMs = this.#meanMs - fastestMs - TOLERATED_MS;
    this.holdMs = Math.max(0, Math.min(GAIN * lateMs, MAX_HOLD_MS));
  }
}

/** Returns the chunking of a generation's policy, in a process whose pressure is `pressure`; undefined for `off`. */
export function chunkingOf({ chunking }: EffectivePolicy, pressure: AppendPressure): Chunking | undefined {
  if (chunking === "off") return undefined;
  if (chunking === "auto") return pressure;
  return { holdMs: chunking.max_ms, maxTokens: chunking.max_tokens, stored: (ms) => pressure.stored(ms) };
}
