import { parentPort, workerData } from "node:worker_threads";
import { nowMicros } from "../measure/clock.ts";
import type { Beat } from "./metronome.ts";

const { startMicros, everyMicros, times } = workerData as Beat;
const never = new Int32Array(new SharedArrayBuffer(4));

for (let beat = 0; beat < times; beat++) {
  const waitMs = (startMicros + beat * everyMicros - nowMicros()) / 1e3;
  if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
  parentPort!.postMessage(0);
}
