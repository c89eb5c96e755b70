import { flushConnection, type LogSnapshot, subscribeLive } from "@reprise/log";
import { type GenerationRef, peekSeq } from "@reprise/protocol";
import type { LoadLogContext } from "./load-log.ts";

/** The feed may lose the event: after so long the log is read again. */
const FEED_MS = 1_000;

/**
 * The beginning of a log that another writer has just begun, or is about to: the broker refuses a second seq 0 while it still
 * replicates the first one, which no reader sees yet.
 * @returns undefined when it was not seen in time
 * @throws RepriseError `broker_unavailable`
 */
export async function awaitBeginning(
  context: LoadLogContext,
  ref: GenerationRef,
): Promise<LogSnapshot | undefined> {
  const stored = await readFromLeader(context, ref);
  if (stored) return stored;
  const { connection, onError } = context;
  const { promise: shown, resolve } = Promise.withResolvers<LogSnapshot | undefined>();
  const feed = subscribeLive(connection, ref, {
    onEvent(payload, sequence) {
      // A later event only says that the log has begun.
      const isFirst = peekSeq(payload) === 0;
      resolve(isFirst ? { events: [Uint8Array.from(payload)], streamSeq: sequence() } : undefined);
    },
    onError,
  });
  const timer = setTimeout(resolve, FEED_MS, undefined);
  try {
    await flushConnection(connection);
    return (await readFromLeader(context, ref)) ?? (await shown) ?? (await readFromLeader(context, ref));
  } finally {
    clearTimeout(timer);
    feed.unsubscribe();
  }
}

async function readFromLeader(
  { log: { leader, reader } }: LoadLogContext,
  ref: GenerationRef,
): Promise<LogSnapshot | undefined> {
  const last = await leader.readLast(ref);
  if (!last) return undefined;
  if (peekSeq(last.payload) > 0) return reader.readLog(ref);
  return { events: [last.payload], streamSeq: last.streamSeq };
}
