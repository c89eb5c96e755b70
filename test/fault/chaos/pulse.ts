import type { Trial } from "../trial/trial.ts";

export interface Output {
  write(text: string): unknown;
}

/** What tells a person, line by line, what happens, with the flow of events drawn between the lines. */
export interface Pulse extends Disposable {
  /** A line of its own, with the time since the beginning. */
  say(text: string): void;
}

const BEAT_MS = 100;
const BLOCKS = "▁▂▃▄▅▆▇█";
/** How many blocks are drawn before a new line begins. */
const WIDTH = 50;

/**
 * Draws one block for every 100 ms: its height is how many events all readers of the trial were shown, beside the most that they
 * were so far.
 */
export function startPulse(trial: Trial, out: Output): Pulse {
  const startedAt = performance.now();
  let drawn = 0;
  let before = 0;
  let most = 1;

  const clock = () => `${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  `;
  const endLine = (): void => {
    if (drawn > 0) out.write("\n");
    drawn = 0;
  };
  const beat = (): void => {
    const shown = trial.readers.reduce((sum, { record }) => sum + record.seen.length, 0);
    const now = shown - before;
    before = shown;
    most = Math.max(most, now);
    if (drawn === 0) out.write(clock());
    out.write(
      now === 0 ? "·" : BLOCKS[Math.min(BLOCKS.length - 1, Math.floor((now / most) * BLOCKS.length))]!,
    );
    if (++drawn === WIDTH) endLine();
  };
  const timer = setInterval(beat, BEAT_MS);
  return {
    say(text) {
      endLine();
      out.write(`${clock()}${text}\n`);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      endLine();
    },
  };
}
