import { Worker } from "node:worker_threads";

export interface Beat {
  /** On the machine's monotonic clock. */
  startMicros: number;
  everyMicros: number;
  /** How often, the first time at `startMicros`. */
  times: number;
}

/**
 * Calls back at each beat. Node's timers round to whole milliseconds and so add half a millisecond to every latency; a thread
 * that sleeps on a futex wakes within 0.1 ms, and costs nothing in between. Resolves after the last beat.
 */
export async function keepTime(beat: Beat, onBeat: () => void): Promise<void> {
  const thread = new Worker(new URL("./metronome-thread.ts", import.meta.url), { workerData: beat });
  thread.on("message", onBeat);
  await new Promise<void>((resolve, reject) => {
    thread.on("error", reject);
    thread.on("exit", () => resolve());
  });
}
