import type { NatsConnection } from "@nats-io/transport-node";
import type { GenerationRef } from "@reprise/protocol";
import { flushConnection } from "@reprise/broker";
import { subscribeLive } from "./live-feed.ts";

export interface WaitUntilBegunOptions<T> {
  /** Carries the live feed. */
  readonly connection: NatsConnection;
  readonly onError: (error: unknown) => void;
  /** Reads the log from its leader; undefined while that has no event. */
  readonly read: () => Promise<T | undefined>;
  /** The feed may lose the event: after so long the log is read once more. Default 1 s. */
  readonly waitMs?: number;
}

const WAIT_MS = 1_000;

/**
 * Reads a log that another writer has just begun, or is about to. While the broker replicates a seq 0 it refuses a second one, and shows the first to
 * no reader: the live feed tells when the log can be read.
 * @returns undefined when the log has not begun in time
 * @throws what `read` throws; RepriseError `broker_unavailable`
 */
export async function waitUntilBegun<T>(
  ref: GenerationRef,
  { connection, onError, read, waitMs = WAIT_MS }: WaitUntilBegunOptions<T>,
): Promise<T | undefined> {
  const there = await read();
  if (there !== undefined) return there;
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const feed = subscribeLive(connection, ref, { onEvent: () => resolve(), onError });
  const timer = setTimeout(resolve, waitMs);
  try {
    await flushConnection(connection);
    const arrived = await read();
    if (arrived !== undefined) return arrived;
    await begun;
    return await read();
  } finally {
    clearTimeout(timer);
    feed.unsubscribe();
  }
}
