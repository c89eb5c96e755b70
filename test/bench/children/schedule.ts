import { nowMicros } from "../measure/clock.ts";
import { keepTime } from "./metronome.ts";

/** Open loop: tokens are due at these times, also when those before them are late. */
export interface Schedule {
  streams: number;
  tokensPerSecond: number;
  /** When the first token is due. */
  startMicros: number;
  /** Of each stream. */
  tokens: number;
}

/**
 * Streams share beats 1 ms apart: a model server's step gives a token to each generation of its batch at once, and a wake-up
 * per token would cost more CPU than what is measured. A stream with more than 1,000 tokens per second gets several in a beat.
 */
const BEAT_MICROS = 1_000;

/** Times of a stream's tokens: streams are spread evenly over the interval between two tokens, in beats. */
function rhythmOf({ streams, tokensPerSecond }: Schedule): { beats: number; every: number } {
  const interval = Math.round(1e6 / tokensPerSecond / BEAT_MICROS) * BEAT_MICROS || 1e6 / tokensPerSecond;
  const beats = Math.max(1, Math.min(interval / BEAT_MICROS, streams));
  return { beats, every: interval / beats };
}

/** When the token of this index, from 0, is due in this stream. */
export function dueMicrosOf(schedule: Schedule, stream: number, index: number): number {
  const { beats, every } = rhythmOf(schedule);
  return Math.round(schedule.startMicros + (index * beats + (stream % beats)) * every);
}

/**
 * Calls back for each token when it is due; after a late wake-up for all that have become due, in order. Resolves after the
 * last one.
 */
export async function runSchedule(
  schedule: Schedule,
  emit: (stream: number, dueMicros: number) => void,
): Promise<void> {
  const { streams, startMicros, tokens } = schedule;
  const { beats, every } = rhythmOf(schedule);
  const perBeat = Array.from({ length: beats }, (_, beat) => range(beat, streams, beats));
  let next = 0;
  const everyMicros = Math.max(BEAT_MICROS, every);
  const times = Math.ceil((beats * tokens * every) / everyMicros);
  await keepTime({ startMicros, everyMicros, times }, () => {
    const now = nowMicros();
    for (; next < beats * tokens && startMicros + next * every <= now; next++) {
      const due = Math.round(startMicros + next * every);
      for (const stream of perBeat[next % beats]!) emit(stream, due);
    }
  });
  // The thread may have ended a beat's message early by the rounding of its clock.
  for (; next < beats * tokens; next++) {
    for (const stream of perBeat[next % beats]!) emit(stream, Math.round(startMicros + next * every));
  }
}

function range(from: number, to: number, step: number): number[] {
  return Array.from(
    { length: Math.max(0, Math.ceil((to - from) / step)) },
    (_, index) => from + index * step,
  );
}
