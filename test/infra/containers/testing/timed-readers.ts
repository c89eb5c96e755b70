import { performance } from "node:perf_hooks";
import type { Generations } from "@reprise/client";

/** Readers with the SDK as users have it, and how long they waited. */
export interface TimedReaders {
  /** What the SDK has thrown, so far. */
  readonly errors: readonly unknown[];
  readonly reconnects: number;
  /** Of all of them together. */
  readonly events: number;
  /** What each has read. */
  readonly logs: readonly (readonly string[])[];
  /** The longest time between two events of one reader, in milliseconds, since this was last asked; waits that go on count. */
  takeLongestPause(): number;
  /** Resolves when all are over. */
  readonly over: Promise<unknown>;
}

export function startTimedReaders(generations: Generations, id: string, count: number): TimedReaders {
  const errors: unknown[] = [];
  const logs = Array.from({ length: count }, (): string[] => []);
  const last = logs.map(() => performance.now());
  const streams = logs.map(() => generations.stream(id));
  let longest = 0;
  let isOver = false;
  const read = async (index: number): Promise<void> => {
    try {
      for await (const event of streams[index]!) {
        const now = performance.now();
        longest = Math.max(longest, now - last[index]!);
        last[index] = now;
        logs[index]!.push(JSON.stringify(event));
      }
    } catch (error) {
      errors.push(error);
    }
  };
  const over = Promise.all(logs.map((_, index) => read(index))).then(() => (isOver = true));
  return {
    errors,
    logs,
    over,
    get reconnects() {
      return streams.reduce((sum, stream) => sum + stream.reconnects, 0);
    },
    get events() {
      return logs.reduce((sum, log) => sum + log.length, 0);
    },
    takeLongestPause() {
      const now = performance.now();
      const waiting = isOver ? [] : last.map((at) => now - at);
      const pause = Math.max(longest, ...waiting);
      longest = 0;
      // A wait that goes on belongs to what was done until now, and what is left of it to what comes.
      for (const index of last.keys()) last[index] = Math.max(last[index]!, now);
      return pause;
    },
  };
}
