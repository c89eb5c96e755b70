import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { nowMicros } from "../measure/clock.ts";

interface Beat {
  /** On the machine's monotonic clock. */
  startMicros: number;
  everyMicros: number;
  /** Number of beats, the first at `startMicros`. */
  times: number;
}

/**
 * Calls back at each beat. Node's timers round to whole milliseconds and so add half a millisecond to every latency; a thread that sleeps on
 * a futex wakes within 0.1 ms, and costs nothing in between. Resolves after the last beat.
 */
export async function keepTime(beat: Beat, onBeat: () => void): Promise<void> {
  const thread = new Worker(new URL(import.meta.url), { workerData: beat });
  thread.on("message", onBeat);
  await new Promise<void>((resolve, reject) => {
    thread.on("error", reject);
    thread.on("exit", () => resolve());
  });
}

if (!isMainThread) {
  const { startMicros, everyMicros, times } = workerData as Beat;
  const never = new Int32Array(new SharedArrayBuffer(4));
  for (let beat = 0; beat < times; beat++) {
    const waitMs = (startMicros + beat * everyMicros - nowMicros()) / 1e3;
    if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
    parentPort!.postMessage(0);
  }
}
