import { setTimeout as pause } from "node:timers/promises";

/** A generation as the audit log lists it, as far as the demo uses it. */
export interface KeptRecord {
  readonly status: string;
  readonly events: number;
  readonly readers: readonly { readonly ended_at?: string }[];
}

interface ReadOptions<T> {
  readonly read: () => Promise<T>;
  readonly isWhole: (read: T) => boolean;
  readonly patienceMs: number;
  readonly pollMs: number;
}

/**
 * Reads until the archive has all of something: it is written in commits, the log of a generation and the last marks of its connections in different ones, and
 * each commit is signed after it is stored.
 * @returns the last reading, which is not whole if the patience has ended
 */
export async function readUntilWhole<T>({ read, isWhole, patienceMs, pollMs }: ReadOptions<T>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const current = await read();
    if (isWhole(current) || performance.now() >= deadline) return current;
    await pause(pollMs);
  }
}

/** True if the record has the log up to its end, and the last mark of every connection that the generation was sent to. */
export function isComplete(record: KeptRecord | undefined, connections: number): boolean {
  return (
    record?.status === "completed" &&
    record.readers.filter(({ ended_at: endedAt }) => endedAt !== undefined).length >= connections
  );
}
