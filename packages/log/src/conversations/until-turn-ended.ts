import type { NatsConnection } from "@nats-io/transport-node";
import { pause } from "@reprise/async";
import {
  type GenerationRef,
  isTerminal,
  peekSeq,
  peekType,
  type Seq,
  toRepriseError,
} from "@reprise/protocol";
import { flushConnection } from "../nats/connection.ts";
import { subscribeLive } from "../read/live-feed.ts";
import type { LogReader } from "../read/log-reader.ts";

export interface UntilTurnEndedOptions {
  /** Carries the live feed. */
  readonly connection: NatsConnection;
  readonly log: { readonly reader: Pick<LogReader, "readLast"> };
  /** How far the log has been read, without an end in it. */
  readonly seq: Seq;
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
  { connection, log, seq, onError, goesOn = () => true, signal }: UntilTurnEndedOptions,
): Promise<void> {
  const ended = new AbortController();
  const onEvent = (payload: Uint8Array) => {
    if (mayHaveEnded(payload, seq)) ended.abort();
  };
  const live = subscribeLive(connection, ref, { onEvent, onError });
  const over = AbortSignal.any([signal, ended.signal]);
  try {
    await flushConnection(connection).catch(unlessAway);
    while (!over.aborted && goesOn()) {
      const last = await log.reader.readLast(ref).catch(unlessAway);
      if (last && mayHaveEnded(last.payload, seq)) return;
      await pause(PROBE_MS, over);
    }
  } finally {
    live.unsubscribe();
  }
}

/**
 * What moderation decides behind an end is the last event then. What has been read of it had none before it. An end counts wherever it is: a store
 * that was rolled back has it at an earlier place.
 */
function mayHaveEnded(payload: Uint8Array, readSeq: Seq): boolean {
  const type = peekType(payload);
  return isTerminal(type) || (type.startsWith("moderation.") && peekSeq(payload) > readSeq);
}

function unlessAway(error: unknown): undefined {
  if (!toRepriseError(error).retryable) throw error;
}
