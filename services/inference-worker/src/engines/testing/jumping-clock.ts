import type { Clock } from "../sim/clock.ts";

export interface JumpingClock extends Clock {
  /** The times that were slept until, in order. */
  readonly sleeps: number[];
  jumpTo(nowMs: number): void;
}

/** A clock on which every sleep takes no time: it jumps to the end of it. Begins at 1,000 ms. */
export function createJumpingClock(): JumpingClock {
  let nowMs = 1_000;
  const sleeps: number[] = [];
  return {
    sleeps,
    now: () => nowMs,
    jumpTo(to) {
      nowMs = to;
    },
    createSleeper: () => ({
      async sleepUntil(atMs) {
        sleeps.push(atMs);
        nowMs = Math.max(nowMs, atMs);
      },
      [Symbol.dispose]() {},
    }),
  };
}
