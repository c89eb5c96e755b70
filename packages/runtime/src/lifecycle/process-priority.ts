import { readdir } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";

/**
 * Makes a process give way to others of its machine: `nice`, from 0 to 19. One that was started with a lower priority keeps that. If the system refuses, the
 * process keeps its priority:
 * it works all the same.
 *
 * To be called before the process starts its own threads, which have the priority of the one that starts them. Linux has one for each thread, so those that
 * Node has started are changed, too.
 */
export async function lowerPriority(nice: number): Promise<void> {
  for (const thread of await threadsOf()) {
    try {
      if (getPriority(thread) < nice) setPriority(thread, nice);
    } catch {
      // It has ended meanwhile, or may not be changed.
    }
  }
}

/** 0 is the calling one: all of the process where it has one priority. */
async function threadsOf(): Promise<readonly number[]> {
  const ids = await readdir("/proc/self/task").catch(() => []);
  return [0, ...ids.map(Number)];
}
