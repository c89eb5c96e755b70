import { setTimeout as pause } from "node:timers/promises";

/** A generation as the audit log lists it, as far as the demo uses it. */
export interface KeptRecord {
  readonly status: string;
  readonly events: number;
  readonly readers: readonly { readonly ended_at?: string }[];
}

export interface KeptRecordOptions {
  /** Undefined while the audit log does not know the generation. */
  readonly read: () => Promise<KeptRecord | undefined>;
  /** Number of connections that the generation was sent to. */
  readonly connections: number;
  readonly patienceMs: number;
  readonly pollMs: number;
}

/**
 * Reads a generation's record until the archive has all of it: the log up to its end, and the last mark of every connection. Log and
 * marks come from different streams, and so in different commits: either may be first.
 * @returns the record as it was read last, which is not complete when the patience has ended
 */
export async function readKeptRecord(options: KeptRecordOptions): Promise<KeptRecord | undefined> {
  const { read, connections, patienceMs, pollMs } = options;
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const record = await read();
    if (isComplete(record, connections) || performance.now() >= deadline) return record;
    await pause(pollMs);
  }
}

export function isComplete(record: KeptRecord | undefined, connections: number): boolean {
  return (
    record?.status === "completed" &&
    record.readers.filter(({ ended_at: endedAt }) => endedAt !== undefined).length >= connections
  );
}
