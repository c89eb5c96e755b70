import { readdirSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ProcessMemory } from "./judge-memory.ts";

/* Loaded into the platform's process with `--import`: on a message it collects garbage and says what is left. Needs `--expose-gc`. */

/** Memory that a finalizer lets go of is collected the next time. */
const COLLECTIONS = 3;

async function measure(): Promise<ProcessMemory> {
  for (let i = 0; i < COLLECTIONS; i++) {
    globalThis.gc?.();
    await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return { heapBytes: heapUsed, externalBytes: external, descriptors: readdirSync("/dev/fd").length };
}

process.on("message", () => {
  void (async () => process.send?.(await measure()))();
});
process.channel?.unref();
