import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { generationNotFound, type GenerationRef } from "@reprise/protocol";
import { flushConnection } from "./connection.ts";
import type { Framing } from "./frame-log.ts";
import { type LiveFeedOptions, subscribeLive } from "./live-feed.ts";
import type { LogReader } from "./log-reader.ts";
import { Tail } from "./tail.ts";

type OnEvent = LiveFeedOptions["onEvent"];

export interface OpenTailOptions {
  connection: NatsConnection;
  reader: Pick<LogReader, "readLog">;
  framing: Framing;
  onError: (error: unknown) => void;
}

/** A tail that is caught up with the log, and the live feed that goes on from there. */
export interface OpenedTail {
  readonly tail: Tail;
  readonly live: Subscription;
  /** Passes on what the live feed shows from now on. Returns whether it has shown anything before, which the tail may lack. */
  readonly follow: (onEvent: OnEvent) => boolean;
}

/**
 * Subscribes before reading, so that nothing falls between the two.
 * @throws RepriseError `generation_not_found`, `broker_unavailable`; no subscription is left then
 */
export async function openTail(options: OpenTailOptions, ref: GenerationRef): Promise<OpenedTail> {
  const { connection, reader, framing, onError } = options;
  let missed = false;
  let pass: OnEvent = () => (missed = true);
  const live = subscribeLive(connection, ref, {
    onEvent: (payload, sequence) => pass(payload, sequence),
    onError,
  });
  try {
    await flushConnection(connection);
    const snapshot = await reader.readLog(ref);
    if (snapshot.events.length === 0) throw generationNotFound();
    const follow = (onEvent: OnEvent) => {
      pass = onEvent;
      return missed;
    };
    return { tail: new Tail(ref, framing, snapshot), live, follow };
  } catch (error) {
    live.unsubscribe();
    throw error;
  }
}
