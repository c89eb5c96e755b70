import type { NatsConnection } from "@nats-io/transport-node";
import { pause } from "@reprise/async";
import { type GenerationRef, isTerminal, peekType, toRepriseError } from "@reprise/protocol";
import { flushConnection } from "@reprise/broker";
import { subscribeLive, type LogReader } from "@reprise/stream";

export interface UntilTurnEndedOptions {
  /** Carries the live feed. */
  readonly connection: NatsConnection;
  readonly log: { readonly reader: Pick<LogReader, "readLast"> };
  readonly onError: (error: unknown) => void;
  /** Asked whenever the log is looked at: where it says no, the wait is over. Default: yes. */
  readonly goesOn?: () => boolean;
  readonly signal: AbortSignal;
}

/** The feed may lose the end: the log's last event is looked at this often. */
const PROBE_MS = 5_000;

/**
 * Resolves when a log may have ended since it was read, which reading it tells; when the signal is aborted; or when `goesOn` says no. While
 * the broker is away it waits on.
 */
export async function untilTurnEnded(
  ref: GenerationRef,
  { connection, log, onError, goesOn = () => true, signal }: UntilTurnEndedOptions,
): Promise<void> {
  const ended = new AbortController();
  const onEvent = (payload: Uint8Array) => {
    if (mayBeBehindEnd(peekType(payload))) ended.abort();
  };
  const live = subscribeLive(connection, ref, { onEvent, onError });
  const over = AbortSignal.any([signal, ended.signal]);
  try {
    await flushConnection(connection).catch(unlessAway);
    while (!over.aborted && goesOn()) {
      const last = await log.reader.readLast(ref).catch(unlessAway);
      if (last && mayBeBehindEnd(peekType(last.payload))) return;
      await pause(PROBE_MS, over);
    }
  } finally {
    live.unsubscribe();
  }
}

/** After an end, moderation's decisions are the last events. */
function mayBeBehindEnd(type: string): boolean {
  return isTerminal(type) || type.startsWith("moderation.");
}

function unlessAway(error: unknown): undefined {
  if (!toRepriseError(error).retryable) throw error;
}
